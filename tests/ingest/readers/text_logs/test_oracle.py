"""Made-up logs beside a plain reading that knows carried steps, skipped lines, units, runs and how logs end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.run_log import Damage
from losslake_ingest.mapping.expressions import TextLines
from losslake_ingest.readers.text_logs.lines import TextRun, read_text
from tests.ingest.formats.reading import cells

EPOCH = r"(?P<epoch>\d+(?:\.\d+)?k?)"
LINES = [rf"^epoch {EPOCH}$", r"^val (?P<val>\S+)$", rf"^epoch {EPOCH} loss (?P<loss>\S+)$"]
ERROR = re.compile(r"Traceback \(most recent call last\)|out of memory|Killed")

Row = tuple[float | None, str, float]


@dataclass
class Plain:
    """A run as a plain reading has it. rows: epoch, column and value, by line."""

    rows: list[Row] = field(default_factory=list)
    is_refused: bool = False
    is_damaged: bool = False


def number(text: str) -> float:
    return float(Decimal(text.removesuffix("k")) * (1000 if text.endswith("k") else 1))


def nearest(epochs: Sequence[tuple[int, float]], at: int, way: str) -> tuple[int, float] | None:
    """The line with an epoch that is nearest above or below a line."""
    if way == "above":
        return max((each for each in epochs if each[0] <= at), default=None)
    return min((each for each in epochs if each[0] >= at), default=None)


def direction(epochs: Sequence[tuple[int, float]], values: Sequence[int]) -> str | None:
    """Where the epochs of the values stand, as both ends of the run show; None if they don't."""
    beside = [at for at in values if at not in dict(epochs)]
    if not beside or not epochs:
        return "above"
    before, after = beside[0] < epochs[0][0], beside[-1] > epochs[-1][0]
    if after:
        return None if before else "above"
    changes = [(one[0], other[0]) for one, other in pairwise(epochs) if one[1] != other[1]]
    return "below" if before and all(any(one < at < other for at in beside) for one, other in changes) else None


def plain(lines: Sequence[str], first: int, is_cut: bool, stated: str | None) -> Plain | None:
    """Read the lines of a run, the first of which has a number; None if none matches."""
    run = Plain()
    epochs, values, skipped, lost, rows = [], [], [], [], []
    last, is_given, with_loss = -1, False, set[float]()
    for at, line in enumerate(lines, first):
        ends_here = is_cut and at == first + len(lines) - 1
        axis = re.fullmatch(r"epoch (\d+(?:\.\d+)?k?)", line)
        both = re.fullmatch(r"epoch (\d+(?:\.\d+)?k?) loss (\S+)", line)
        value = re.fullmatch(r"val (\S+)", line)
        last = at if axis or both or value else last
        is_given |= bool(axis or both)
        if axis and not ends_here:
            epochs.append((at, number(axis[1])))
        elif both:
            epochs.append((at, number(both[1])))
            with_loss.add(number(both[1]))
            rows += [] if ends_here else [(at, "loss", float(both[2]))]
        elif value:
            values.append(at)
            rows += [] if ends_here else [(at, "val", float(value[1]))]
        elif not axis and (name := re.search(r"\bepoch[ :]+(\d+(?:\.\d+)?k?)(?!\S)", line)):
            skipped.append((at, number(name[1])))
            lost += [number(name[1])] if ends_here or re.search(r"\bloss \d", line) else []
        run.is_damaged |= ends_here and bool(axis or both or value)
    if last < 0:
        return None
    way = stated or (direction(epochs, values) if values and epochs else "above")
    run.is_refused = way is None
    if way is None:
        return run
    # A line whose epoch is cut has a value of its own only.
    for at in values if is_given else ():
        near, named = nearest(epochs, at, way), nearest(skipped, at, way)
        is_nearer = named is not None and (near is None or (named[0] > near[0]) == (way == "above"))
        run.is_refused |= is_nearer and named is not None and named[1] != (near and near[1])
    run.is_damaged |= any(epoch not in with_loss for epoch in lost)
    run.is_damaged |= any(ERROR.search(line) for line in lines[last + 1 - first :])
    for at, column, number_ in rows:
        epoch = nearest(epochs, at, way)
        run.rows.append((epoch[1] if epoch else None, column, number_))
    return run


def plain_runs(text: str, stated: str | None) -> list[Plain]:
    lines = text.split("\n")
    is_cut = lines[-1] != ""
    lines = lines if is_cut else lines[:-1]
    starts = [0, *(at for at, line in enumerate(lines) if line.startswith("---")), len(lines)]
    runs = [plain(lines[one:other], one + 1, is_cut and other == len(lines), stated) for one, other in pairwise(starts)]
    return [run for run in runs if run is not None]


def read_rows(run: TextRun) -> list[Row]:
    found: list[Row] = []
    for rows in run.rows:
        epochs = (
            cells(rows, "epoch") if "epoch" in rows.columns else [None] * len(cells(rows, next(iter(rows.columns))))
        )
        for column in ("val", "loss"):
            if column in rows.columns:
                pairs = zip(epochs, cells(rows, column), strict=True)
                found += [(epoch, column, value) for epoch, value in pairs if value is not None]
    return found


def key(row: Row) -> tuple[str, float, float]:
    return row[1], -1.0 if row[0] is None else row[0], row[2]


epoch_text = st.sampled_from(["1", "2", "3", "10", "1k", "1.5k"])
line = st.one_of(
    epoch_text.map("epoch {}".format),
    st.integers(0, 9).map("val 0.{}".format),
    st.integers(0, 9).map("val 0.{}".format),
    st.tuples(epoch_text, st.integers(0, 9)).map(lambda each: f"epoch {each[0]} loss 0.{each[1]}"),
    epoch_text.map("epoch {} done".format),
    epoch_text.map("* epoch: {} loss 0.5 (best)".format),
    st.sampled_from(
        ["--- run", "x", "", "Traceback (most recent call last)", "CUDA out of memory", "epochs 5", "Killed"]
    ),
)
texts = st.tuples(st.lists(line, max_size=12).map("\n".join), st.sampled_from(["\n", ""])).map("".join)
ways = st.sampled_from([None, None, "above", "below"])


def check(text: str, way: str | None) -> None:
    mapping = TextLines(LINES, carried=["epoch"], carried_from=way, starts="^---")  # type: ignore[arg-type]
    found = read_text(text.encode(), mapping, frozenset({"epoch"}))
    expected = plain_runs(text, way)
    assert [run.refusal is not None for run in found] == [run.is_refused for run in expected]
    for run, right in zip(found, expected, strict=True):
        if run.refusal is None:
            assert sorted(read_rows(run), key=key) == sorted(right.rows, key=key)
            assert any(isinstance(remark, Damage) for remark in run.remarks) == right.is_damaged


QUICK = settings(suppress_health_check=list(HealthCheck), deadline=None)


@QUICK
@given(texts, ways)
def test_a_log_is_read_as_a_plain_reading_has_it(text: str, way: str | None) -> None:
    check(text, way)


@pytest.mark.fuzz
@settings(QUICK, max_examples=30_000)
@given(texts, ways)
def test_many_logs_are_read_as_a_plain_reading_has_them(text: str, way: str | None) -> None:
    check(text, way)
