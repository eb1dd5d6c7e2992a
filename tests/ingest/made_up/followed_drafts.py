"""Ingest the logs of print loops by following only the command, and compare with the values printed.

`losslake map --init` drafts a mapping. The author removes the # of the lines that are right, chooses among what a line
offers, and states the facts of the study; then adds the lines that an ingest asks for, until it stores the log or
refuses it. What is stored must be the printed values, each at its step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.contracts.rules import UnknownFormat
from losslake_ingest.mapping.metrics import guess_metric
from losslake_ingest.pipeline.mapping_draft import draft_mapping
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import plan_ingest
from losslake_ingest.run import ingest
from tests.ingest.made_up.print_loops import BATCH_SIZE, EPOCH_SIZE, PrintLoop
from tests.ingest.stored_rows import stored_rows

MOST_ROUNDS = 6
_FACTS = {"name": "loops", "dataset": "d", "model": "m", "optimizer": "o"}
Curves = dict[str, dict[int, float]]


def refusal(loop: PrintLoop, folder: Path) -> str | None:
    """Draft a mapping for a log, follow it, and ingest; return the rule that refuses the log, None if it is stored.

    Fails if what is stored isn't what was printed.
    """
    text, runs = loop.log()
    logs = folder / "logs"
    logs.mkdir()
    log, mapping = logs / "run.log", logs / "losslake.toml"
    log.write_text(text)
    try:
        draft_mapping(log)
    except UnknownFormat:
        return "no draft"
    mapping.write_text("\n".join(_followed(mapping.read_text().splitlines(), loop)))
    _complete(mapping, loop)
    lake = Lake.create(folder / "lake")
    summary = ingest(lake, [logs])
    if summary.broken or summary.quarantined:
        why = (*summary.broken, *map(str, summary.quarantined))[0]
        return why.partition(":")[0]
    _compare([curves for _, curves in sorted(_stored(lake).items())], runs)
    return None


def _complete(mapping: Path, loop: PrintLoop) -> None:
    """Add the lines that an ingest asks for, until it asks for none."""
    added: set[str] = set()
    for _ in range(MOST_ROUNDS):
        plan = plan_ingest(None, [mapping.parent], Request())
        lines = [line for field in plan.missing for line in _lines_of(field.add)]
        if not lines or added.issuperset(lines):
            return
        for line in lines:
            added.add(line)
            _add(mapping, *_answered(line, loop))


def _followed(lines: Sequence[str], loop: PrintLoop) -> Iterator[str]:
    """Yield the lines of a draft as its author leaves them."""
    section = ""
    for line in lines:
        section = line if re.fullmatch(r"(# )?\[.*\]", line) else section
        key, is_setting, value = line.removeprefix("# ").partition(" = ")
        if section == "[metrics]" and line.startswith("# ") and is_setting and " " not in key:
            yield _metric_line(key, value, loop)
        elif key in _FACTS:
            yield f'{key} = "{_FACTS[key]}"'
        elif key == "batch_size":
            yield f"batch_size = {BATCH_SIZE}"
        elif key == "examples_per_epoch":
            yield f"examples_per_epoch = {EPOCH_SIZE}"
        elif key == "epoch_size":
            yield f"epoch_size = {EPOCH_SIZE}"
        elif line in ("# [fields]", "# [[axis]]") or key in ("column", "counts"):
            yield line.removeprefix("# ")
        else:
            yield line


def _metric_line(column: str, value: str, loop: PrintLoop) -> str:
    """Return the line of a column: what its author knows, else a guess of the draft, else left out."""
    known = next((metric for name, metric in loop.known.items() if re.fullmatch(name, column.strip('"'))), None)
    said, _, comment = value.partition("   #")
    if known is not None:
        scale = ", scale = 0.01" if "percent" in column and known else ""
        return f'{column} = {{ metric = "{known}"{scale} }}' if scale else f'{column} = "{known}"'
    return f"{column} = {said}   #{comment}"


def _lines_of(add: str) -> Iterator[str]:
    """Yield the settings that an ingest asks for; those of an axis as one."""
    if add.startswith("[["):
        yield ", ".join(add.splitlines())
    else:
        yield from add.splitlines()


def _answered(line: str, loop: PrintLoop) -> tuple[str, str]:
    """Return a line that is asked for, as the author completes it, and the section that it belongs to."""
    setting, _, comment = line.partition("   #")
    key, _, value = setting.partition(" = ")
    if setting.startswith("[["):
        axis = setting.replace(", ", "\n")
        return axis + ("" if "epoch_size" in axis or '"epochs"' not in axis else f"\nepoch_size = {EPOCH_SIZE}"), ""
    where = re.search(r"under (\[\[axis\]\] of '[^']*'|\[\w+\])", comment)
    section = where[1] if where else "[metrics]"
    if "repeated" in loop.answers:
        value = value.replace('repeated = "first"', f"repeated = {loop.answers['repeated']}")
    if key == "examples_per_epoch":
        value = str(EPOCH_SIZE)
    elif key in loop.answers:
        value = loop.answers[key]
    elif section == "[metrics]" and value.startswith('"'):
        return _metric_line(key, value if guess_metric(key) else '""', loop), section
    return f"{key} = {value}", section


def _add(mapping: Path, line: str, section: str) -> None:
    """Add a line to a section of a mapping, or replace that of the same key."""
    lines = mapping.read_text().splitlines()
    if not section:
        lines.append(line)
    elif section.startswith("[[axis]]"):
        column = section.partition(" of ")[2].strip("'")
        at = next((at for at, each in enumerate(lines) if each == f'column = "{column}"'), None)
        if at is None:
            epochs = 'counts = "epochs"\nepoch_size = "{examples_per_epoch}"'
            counts = epochs if "epoch" in column else 'counts = "steps"'
            lines.append(f'[[axis]]\ncolumn = "{column}"\n{counts}\n{line}')
        else:
            lines.insert(at + 1, line)
    else:
        key = line.partition(" = ")[0]
        start = lines.index(section) if section in lines else len(lines)
        lines[start:start] = [] if section in lines else [section]
        stop = next((at for at in range(start + 1, len(lines)) if lines[at].startswith("[")), len(lines))
        kept = [each for each in lines[start + 1 : stop] if not each.startswith(f"{key} = ")]
        lines[start + 1 : stop] = [line, *kept]
    mapping.write_text("\n".join(lines))


def _stored(lake: Lake) -> dict[str, Curves]:
    """Return the curves of each run in a lake."""
    runs = {(row["batch_size"], row["trial_id"]): row["source"] for row in stored_rows(lake, "trials")}
    found: dict[str, Curves] = {}
    for row in sorted(stored_rows(lake, "measurements"), key=lambda row: row["step"]):
        curves = found.setdefault(runs[row["batch_size"], row["trial_id"]], {})
        curves.setdefault(row["metric"], {})[row["step"]] = row["value"]
    return found


def _compare(stored: Sequence[Curves], runs: Sequence[Curves]) -> None:
    """Fail unless the stored metrics are those that were printed, value by value."""
    for curves, printed in zip(stored, runs, strict=True):
        assert curves.keys() == printed.keys()
        for metric, values in printed.items():
            assert [*curves[metric]] == [*values], metric
            assert [*curves[metric].values()] == pytest.approx([*values.values()], rel=1e-12, abs=0), metric
