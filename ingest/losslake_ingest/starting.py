"""A starting mapping: what the logs say filled in, guesses to be checked, and the rest as lines to complete."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from losslake.lake.store.folder import FolderStore
from losslake_ingest.formats.format import Format
from losslake_ingest.gather import Stored
from losslake_ingest.mapping.mapping import MAPPING_NAME, LogMapping
from losslake_ingest.mapping.metrics import guessed_metric, metric_of, toml_key, toml_string
from losslake_ingest.mapping.side_files import SideFiles
from losslake_ingest.mapping.template import UnknownField
from losslake_ingest.reading import Request, SourceReading, with_defaults
from losslake_ingest.rules import BadMapping, UnknownFormat
from losslake_ingest.run_log import RunLog, Scalar
from losslake_ingest.sources.member import Source, UntilBreak
from losslake_ingest.sources.open import open_source

MOST_RUNS = 50
MOST_SHOWN = 200
LONGEST_VALUE = 60
LONGEST_PATH = 400
_AXES = {
    "steps": ("step", "_step", "global_step", "iteration", "iter", "update", "num_updates", "s"),
    "examples": ("samples", "samples_count", "examples", "tokens", "num_tokens", "samples_seen", "tokens_seen"),
    "epochs": ("epoch", "epochs", "epoch_num"),
}
_FIELDS = {
    "dataset": ("dataset", "data", "dataset_name", "data_set", "task"),
    "model": ("model", "arch", "architecture", "model_name", "net", "backbone"),
    "optimizer": ("optimizer", "optim", "opt", "opt_name", "optimizer_name", "optimizer_type"),
    "batch_size": ("batch_size", "global_batch_size", "train_batch_size", "bs", "batch", "b"),
}
_SEGMENT = re.compile(r"([A-Za-z][A-Za-z_-]*?)([_=-]?)([0-9]+(?:\.[0-9]+)?(?:[eE]-?[0-9]+)?)")


def start_mapping(place: Path | str, formats: tuple[str, ...] = (), output: Path | None = None) -> Path:
    """Write a starting mapping for the logs at a place, by default beside them; return where it is.

    Raises BadMapping when there is a file already, UnknownFormat when no format fits, UnknownSource.
    """
    source = open_source(place)
    folder = source.path if source.path.is_dir() else source.path.parent
    target = output or folder / MAPPING_NAME
    if target.exists():
        raise BadMapping(f"{target} is there already: change it, or name another file with --output")
    nothing = Stored(FolderStore(Path()), [])
    reading = SourceReading(source, Request(formats=formats), nothing, LogMapping())
    samples = [_sample(reading.part(name), reading.formats[name]) for name in reading.detected.files]
    samples = [sample for sample in samples if sample.runs]
    if not samples:
        raise UnknownFormat(f"{source.path} holds no run that needs a mapping: see 'losslake formats'")
    try:
        target.write_text("".join(f"{line}\n" for line in _lines(samples)), "utf-8")
    except OSError as error:
        raise BadMapping(f"can't write {target}: {error.strerror}") from None
    return target


@dataclass(frozen=True)
class _Sample:
    """Some runs of one format, the format's own mapping, the runs' fields, each with one of its values, and columns."""

    format: str
    defaults: LogMapping
    runs: Sequence[RunLog]
    fields: Mapping[str, Scalar]
    columns: Sequence[str]


def _sample(source: Source, log_format: Format) -> _Sample:
    defaults = with_defaults(LogMapping(), log_format)
    side = SideFiles.read(source, defaults.files.side)
    runs: list[RunLog] = []
    fields: dict[str, Scalar] = {}
    for item in UntilBreak(log_format.read(source, defaults)):  # what comes before a break is sample enough
        if isinstance(item, RunLog):
            runs.append(item)
            fields = {**item.fields, **side.beside(item.run), **fields}
        if len(runs) >= MOST_RUNS:
            break
    columns = dict.fromkeys(column for run in runs for rows in run.rows for column in rows.columns)
    return _Sample(log_format.name, defaults, runs, fields, list(columns))


def _lines(samples: Sequence[_Sample]) -> Iterator[str]:
    """The mapping; loads as it is, and `ingest --dry-run` says what is still missing."""
    formats = ", ".join(sample.format for sample in samples)
    yield f"# A mapping for these logs ({formats}). Check and complete it, then try it with"
    yield "#     losslake ingest PATH --dry-run"
    yield "# docs/mapping.md explains every line."
    yield ""
    yield "[collection]"
    yield '# name = "my-runs"   # needed: where these studies come from'
    for key in ("title", "licence", "citation", "source_url"):
        yield f'# {key} = "…"'
    yield ""
    yield from _path([run.run for sample in samples for run in sample.runs])
    yield from _run({name: value for sample in samples for name, value in sample.fields.items()}, samples)
    yield from _metrics(samples)
    for sample in samples:
        yield from _axis(sample)


def _path(paths: Sequence[str]) -> Iterator[str]:
    patterns = list(dict.fromkeys(filter(None, map(guessed_pattern, paths))))
    yield "[path]"
    yield '# Facts in the paths, e.g. patterns = ["{optimizer}/b{batch_size:int}/seed{seed:int}/*"]. These logs:'
    for path in paths[:3]:
        yield f"#   {_shown(path, LONGEST_PATH)}"
    if patterns:
        yield f"# patterns = [{', '.join(toml_string(pattern) for pattern in patterns[:3])}]"
    yield ""


def _run(fields: Mapping[str, Scalar], samples: Sequence[_Sample]) -> Iterator[str]:
    yield "[run]"
    yield '# Each a constant, or "{field}" for something that the log, a file beside it or the path says.'
    by_name = {field.lower().rpartition(".")[2]: field for field in reversed(list(fields))}
    for fact, names in _FIELDS.items():
        given = [getattr(sample.defaults.run, fact) for sample in samples]
        guess = next((by_name[name] for name in names if name in by_name), None)
        if guess is not None:
            yield f'{fact} = "{{{guess}}}"   # for example {_shown(fields[guess])}'
        elif all(given):
            yield f"# {fact} is what the format says: {given[0].text}"
        else:
            yield f"# {fact} = " + ("64" if fact == "batch_size" else '"…"') + "   # needed"
    yield '# batch_unit = "examples"     # or tokens, sequences …'
    yield '# trial_id = "{seed}"         # without it trials are numbered in order of their paths'
    if fields:
        yield "# Fields that these logs have, each with one of its values:"
        for name in list(fields)[:MOST_SHOWN]:
            yield f"#   {{{_shown(name)}}} = {_shown(fields[name])}"
    yield ""


def _metrics(samples: Sequence[_Sample]) -> Iterator[str]:
    yield "[metrics]"
    yield '# logged column = metric "split/quantity"; "" leaves a column out'
    unknown: dict[str, None] = {}
    for sample in samples:
        axes = {axis.column for axis in sample.defaults.axis} | {*vars(sample.defaults.time).values()}
        for column in sample.columns[:MOST_SHOWN]:
            try:
                known = metric_of(column, sample.defaults.metrics, sample.fields)
            except (KeyError, UnknownField):
                unknown |= {} if column in axes else {column: None}
            else:
                if known:
                    yield f"# {toml_key(column)} = {toml_string(known)}   # known without this line"
    axis = _guessed_axis(list(unknown))
    for column in unknown:
        guess = guessed_metric(column)
        if guess:
            yield f"{toml_key(column)} = {toml_string(guess)}   # a guess by its name: check it"
        elif axis is None or column != axis[0]:
            yield f'# {toml_key(column)} = ""'
    yield ""


def _axis(sample: _Sample) -> Iterator[str]:
    axis = next((axis for axis in sample.defaults.axis if axis.column in sample.columns), None)
    if axis is not None:
        yield f"# The step of {sample.format} is its column {axis.column}, which counts {axis.counts}."
        if axis.counts == "epochs" and axis.epoch_size is not None:
            for name in axis.epoch_size.names[:1]:
                yield f"# [fields]\n# {name} = 50000   # examples in an epoch"
        return
    guess = _guessed_axis(sample.columns)
    yield "" if guess else "# The column that says how far training is:"
    mark = "" if guess else "# "
    column, counts = guess or ("step", "steps")
    yield f"{mark}[[axis]]"
    yield f"{mark}column = {toml_string(column)}"
    yield f'{mark}counts = "{counts}"   # steps, examples or epochs'
    if counts == "epochs":
        yield 'epoch_size = "{epoch_examples}"   # examples in an epoch: a number, or a field that says it'


def _guessed_axis(columns: Sequence[str]) -> tuple[str, str] | None:
    """The column that looks like the axis, and what it counts; steps before examples before epochs."""
    candidates = (
        (column, counts)
        for counts, names in _AXES.items()
        for name in names
        for column in columns
        if column.lower() == name
    )
    return next(candidates, None)


def guessed_pattern(path: str) -> str | None:
    """Return a path pattern for names such as `b64/seed1/metrics.csv`; None when no folder says a number."""
    parts = []
    named: set[str] = set()
    for part in path.partition("#")[0].split("/"):
        match = _SEGMENT.fullmatch(part)
        if match is None:
            parts.append(part)
            continue
        plain = re.sub("[^a-z0-9]+", "_", match[1].lower()).strip("_")
        name = "batch_size" if plain in _FIELDS["batch_size"] else plain
        kind = "int" if match[3].isdigit() else "float"
        parts.append(f"{match[1]}{match[2]}{{{name}:{kind}}}" if name not in named else part)
        named.add(name)
    return "/".join(parts) if named else None


def _shown(value: Scalar, at_most: int = LONGEST_VALUE) -> str:
    text = str(value)
    text = text if len(text) <= at_most else f"{text[:at_most]}…"
    return "".join(c if c.isprintable() else "?" for c in text)
