"""Record what a W&B or Trackio run logs, beside it.

    run = wandb.init(...)
    losslake.record.behind(run, workload="mine/mnist/cnn/sgd", batch_size=64)

Neither library has a hook for what is logged, so `log`, `define_metric` and `finish` of this one run object are
wrapped. The tool's own method is called first, as it is; no error of the recorder reaches the training.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import json
import logging
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, TypeGuard

from losslake.record.facts import Scalar, is_label, is_name
from losslake.record.run import FOLDER, Run, start
from losslake.record.steps import StepBeside
from losslake.record.values import IMMUTABLE, as_float, leaves

_LOGGER = logging.getLogger("losslake.record")
_LINKS = ".behind.json"
_LONGEST_TEXT = 1_000
# What W&B adds, and the names that the recorder uses itself.
_NO_METRICS = frozenset(("_step", "_timestamp", "_runtime", "_wandb", "step", "Step", "elapsed_s"))
_NO_STEP = -1  # counted by the recorder as a bad step


def behind(
    tool_run: Any,
    *,
    workload: str,
    batch_size: int,
    steps: str | None = None,
    parameters: Mapping[str, Scalar] | None = None,
    folder: str | Path = FOLDER,
    resume: str | None = None,
    **facts: Any,
) -> Run:
    """Record everything that a run of W&B or Trackio logs from now on; return the recorded run.

    Call it right after `init`, before `define_metric`. The run ends when the tool's run does.

    Args:
        tool_run: what `wandb.init` or `trackio.init` returned.
        workload, batch_size, folder, resume, facts: as of `losslake.record.start`. A resumed run of the tool goes on
            with its recorded run.
        steps: the name of a logged value that counts updates. Without it, a metric's step is its step metric of
            `define_metric`, else the tool's own step, which counts calls unless `step=` is given.
        parameters: in addition to the numbers, texts and truth values of the tool's config, and before them.

    Raises ValueError as `start` does, before any training.
    """
    log = getattr(tool_run, "log", None)
    if not callable(log) or inspect.ismodule(tool_run):
        raise ValueError("behind() needs a run: give what wandb.init() or trackio.init() returned")
    earlier = getattr(log, "recorded_by", None)
    if isinstance(earlier, Run):
        _LOGGER.warning("the run is recorded already, as %s: the second call of behind() changes nothing", earlier.name)
        return earlier
    is_wandb = hasattr(tool_run, "define_metric")
    tool = "wandb" if is_wandb else "trackio"
    key = "/".join((tool, *(str(getattr(tool_run, name, "")) for name in ("project", "id"))))
    links = Path(folder) / _LINKS
    resume = resume or (_linked(links, key) if _goes_on(tool_run) else None)
    run = start(
        workload=workload,
        batch_size=batch_size,
        parameters={**_scalars(getattr(tool_run, "config", None)), **(parameters or {})},
        folder=folder,
        resume=resume,
        **{**_description(tool_run), **facts},
    )
    if run.folder is not None:
        _link(links, key, run.name)
        rows = Rows(run, tool, steps, int(getattr(tool_run, "step", 0) or 0), facts.get("updates_per_log"))
        (_behind_wandb if is_wandb else _behind_trackio)(tool_run, run, rows)
    return run


class Rows:
    """The rows that W&B makes of calls of `log`, and the recorded run that gets each complete one.

    Source: https://docs.wandb.ai/ref/python/experiments/run#log; checked against `.wandb` files. per_call: the updates
    between two steps that the tool counts; None if nobody knows: then they are recorded as counts of calls.
    """

    def __init__(self, run: Run, tool: str, steps: str | None, step: int = 0, per_call: int | None = None) -> None:
        self._run, self._tool, self._steps, self._step = run, tool, steps, step
        self._per_call = per_call
        self._is_counted = True  # by the tool, which counts calls
        self._row: dict[str, dict[str, Any]] = {}
        self._axes: dict[str, str | None] = {}
        self._last: dict[str, Any] = {}
        self._lock = threading.RLock()
        self._has_warned = False

    def add(self, data: Mapping[str, Any], step: int | None = None, commit: bool | None = None, **_: Any) -> None:
        """Add the values of a call, and record the rows that are complete. W&B ignores steps that are over."""
        with self._lock:
            if step is not None:
                if step < self._step:
                    return
                if step > self._step:
                    self.flush()
                    self._step = step
                self._is_counted = False
            try:
                self._hold(data)
            finally:  # whatever an object does: W&B has counted the call
                if commit or (commit is None and step is None):
                    self.flush()
                    self._step, self._is_counted = self._step + 1, True
            if step is None:
                self._note_calls()

    def record(self, values: Mapping[str, Any], step: int, is_counted: bool) -> None:
        """Record a whole row at a step. is_counted: the tool counted it."""
        with self._lock:
            self._hold(values)
            self._step, self._is_counted = step, is_counted
            self.flush()
            if is_counted:
                self._note_calls()

    def _hold(self, values: Mapping[str, Any]) -> None:
        """Add values to the row. A later value of a name replaces the earlier one, with all that is nested in it."""
        for name, value in values.items():
            self._row[name] = {str(leaf): _number(each) for leaf, each in leaves({name: value})}

    def define(self, name: str, step_metric: Any = None, overwrite: bool | None = None, **_: Any) -> None:
        """Note the step metric of a metric, or of a pattern that ends in an asterisk."""
        with self._lock:
            axis = getattr(step_metric, "name", step_metric)
            if axis is not None or overwrite or name not in self._axes:
                self._axes[name] = axis if axis not in (None, "_step", name) else None

    def flush(self) -> None:
        """Record the row so far."""
        with self._lock:
            row = {name: value for leaves in self._row.values() for name, value in leaves.items()}
            self._row = {}
            if not row:
                return
            axes = {self._steps} if self._steps else {axis for axis in self._axes.values() if axis}
            self._last.update((axis, row[axis]) for axis in axes if row.get(axis) is not None)
            by_step: dict[Any, dict[str, Any]] = {}
            for name, value in row.items():
                if name not in _NO_METRICS and name not in axes:
                    axis = self._axis(name) if axes else None
                    at = self._own_step() if axis is None else StepBeside(self._last.get(axis, _NO_STEP))
                    by_step.setdefault(at, {})[name] = value
            for at, values in by_step.items():
                self._run.log(values, step=at)

    def _own_step(self) -> StepBeside:
        """Return the step of the tool, in updates if it is known what it counts."""
        if self._is_counted and self._per_call:
            return StepBeside((self._step + 1) * self._per_call)
        return StepBeside(self._step, self._is_counted)

    def _axis(self, name: str) -> str | None:
        """Return the step metric of a metric: a definition by name comes before patterns."""
        if self._steps is not None or name in self._axes:
            return self._steps or self._axes[name]
        fitting = (axis for glob, axis in self._axes.items() if glob.endswith("*") and name.startswith(glob[:-1]))
        return next((axis for axis in fitting if axis not in (None, name)), None)

    def _note_calls(self) -> None:
        """Warn once that steps count calls."""
        if not (self._has_warned or self._per_call or self._steps or any(self._axes.values())):
            self._has_warned = True
            _LOGGER.warning(
                "log() of %s was called without step=, so the recorded steps count its calls, and the ingest asks what "
                "they are: give behind() updates_per_log=1 if there is one call after each update, or log the number "
                'of updates and give its name, as steps="update"',
                self._tool,
            )


def _behind_wandb(tool_run: Any, run: Run, rows: Rows) -> None:
    """Wrap a run of W&B, and the functions of the module that are its methods."""
    _follow(tool_run, "log", rows.add, run)
    _follow(tool_run, "define_metric", rows.define, run)

    def end(code: int | None) -> None:
        rows.flush()
        run.finish("INCOMPLETE" if code else "COMPLETE")

    def finished(exit_code: int | None = None, **_: Any) -> None:
        code = getattr(tool_run, "_exit_code", None)
        end(exit_code if code is None else code)

    def event() -> None:
        # W&B has an exit code for runs that end; the event of another run leaves this one as it is.
        if getattr(tool_run, "_exit_code", None) is not None:
            finished()

    _follow(tool_run, "finish", finished, run)
    module: Any = sys.modules.get("wandb")
    trigger: Any = sys.modules.get("wandb.trigger")
    if module is not None and module.run is tool_run:
        module.log, module.define_metric = tool_run.log, tool_run.define_metric
    if trigger is not None:
        # For `with`, which doesn't call `finish`.
        trigger.register("on_finished", functools.partial(_quietly, event))
    # A script may end without `finish`. By then the object whose method W&B put in place of sys.exit has its exit code.
    atexit.register(_quietly, lambda: end(getattr(getattr(sys.exit, "__self__", None), "exit_code", 1)))


def _behind_trackio(tool_run: Any, run: Run, rows: Rows) -> None:
    """Wrap a run of Trackio, which makes a row of each call."""
    original = tool_run.log

    @functools.wraps(original)
    def log(metrics: Any, step: Any = None, **others: Any) -> Any:
        at = step if step is not None else getattr(tool_run, "_next_step", None)
        result = original(metrics, step, **others) if step is not None else original(metrics, **others)
        _quietly(rows.record, metrics, _NO_STEP if at is None else at, step is None)
        return result

    log.recorded_by = run  # type: ignore[attr-defined]
    tool_run.log = log
    _follow(tool_run, "finish", lambda: run.finish("COMPLETE"), run)
    # Before Trackio's own handler, which finishes the run of a script that failed as that of one that didn't.
    atexit.register(_quietly, run.finish, "INCOMPLETE")


def _follow(tool_run: Any, name: str, then: Callable[..., None], run: Run) -> None:
    """Let a function follow a method of one object, with the same arguments."""
    original = getattr(tool_run, name)

    @functools.wraps(original)
    def method(*args: Any, **named: Any) -> Any:
        result = original(*args, **named)
        _quietly(then, *args, **named)
        return result

    method.recorded_by = run  # type: ignore[attr-defined]
    setattr(tool_run, name, method)


def _quietly(function: Callable[..., Any], *args: Any, **named: Any) -> None:
    """Call a function; an error becomes a warning."""
    try:
        function(*args, **named)
    except Exception as error:  # noqa: BLE001 - nothing of the recorder may reach the training
        with suppress(Exception):  # nor of a handler of warnings, or of the text of an error
            _LOGGER.warning("a call wasn't recorded: %s: %s", type(error).__name__, error)


def _number(value: Any) -> float | None:
    """Return a value as it is now; None, which the recorder counts, for what isn't a number."""
    try:
        return None if type(value) is bool else value if type(value) in IMMUTABLE else as_float(value)
    except Exception:  # noqa: BLE001 - an object's own float() can raise anything
        return None


def _scalars(config: Any) -> dict[str, Scalar]:
    """Return the numbers, texts and truth values of a config that can be parameters."""
    try:
        facts = ((str(name), value) for name, value in leaves(dict(config or {})))
        return dict(islice(filter(_is_fact, facts), 1_000))
    except Exception as error:  # noqa: BLE001 - a config can be any object
        _LOGGER.warning("the config isn't recorded: %s", error)
        return {}


def _is_fact(field: tuple[str, Any]) -> TypeGuard[tuple[str, Scalar]]:
    """Return True if a field of a config can be a parameter."""
    name, value = field
    is_long = isinstance(value, str) and len(value) > _LONGEST_TEXT
    return is_name(name) and not name.startswith("_") and isinstance(value, Scalar) and not is_long


def _description(tool_run: Any) -> dict[str, Any]:
    """Return name, tags and group of a run, those that it has and that `start` takes."""
    tags = getattr(tool_run, "tags", None)
    texts = {name: getattr(tool_run, name, None) for name in ("name", "group")}
    described: dict[str, Any] = {name: text for name, text in texts.items() if isinstance(text, str) and is_label(text)}
    return {**described, "tags": [text for tag in tags or () if is_label(text := str(tag))]}


def _goes_on(tool_run: Any) -> bool:
    """Return True if the tool goes on with an earlier run."""
    return bool(getattr(tool_run, "resumed", False) or getattr(tool_run, "_next_step", 0))


def _linked(links: Path, key: str) -> str | None:
    """Return the name of the recorded run of a run of the tool, if it is there."""
    name = _read(links).get(key)
    is_there = isinstance(name, str) and Path(name).name == name and (links.parent / name / "run.json").is_file()
    return name if is_there else None


def _link(links: Path, key: str, name: str) -> None:
    """Note which run was recorded behind which, for one that goes on."""
    try:
        new = links.with_name(f"{links.name}.{name}")
        new.write_text(json.dumps({**_read(links), key: name}), "utf-8")
        new.replace(links)
    except OSError as error:
        _LOGGER.warning("a resumed run will be a new one: %s", error)


def _read(links: Path) -> dict[str, Any]:
    try:
        document = json.loads(links.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}
