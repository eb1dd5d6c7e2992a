"""The growth of figures from scale to scale as a Markdown table, with their limits."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.measure import percentile


@dataclass(frozen=True)
class Limit:
    """The limits of a figure: its value at the largest scale, and its growth from a tenth of that."""

    most: float
    growth: float | None = None


@dataclass(frozen=True)
class Figure:
    """A measured number; less is better if it has a limit."""

    name: str
    value: float
    unit: str = ""
    limit: Limit | None = None


@dataclass(frozen=True)
class AtScale:
    """The figures of one scale; every scale has the same figures in the same order."""

    scale: float
    figures: tuple[Figure, ...]


def spread(what: str, values: Sequence[float], unit: str, limit: Limit | None = None) -> Iterator[Figure]:
    """Yield the median of values, with its limit, and their 99th percentile."""
    yield Figure(f"{what}, median", statistics.median(values) if values else math.nan, unit, limit)
    yield Figure(f"{what}, p99", percentile(values, 0.99) if values else math.nan, unit)


def growth_table(measured: Sequence[AtScale]) -> Iterator[str]:
    """Yield a row per figure, with a column per scale, its last tenfold growth, and the limits it keeps."""
    ordered = sorted(measured, key=lambda one: one.scale)
    tenth = _tenth_of_last(ordered)
    scales = [f"{one.scale:g}" for one in ordered]
    growth = f"{scales[-1]} / {scales[tenth]}" if tenth is not None else "growth"
    yield f"| what | unit | {' | '.join(scales)} | {growth} | limits at {scales[-1]} |"
    yield f"| --- | --- |{' ---: |' * (len(scales) + 1)} --- |"
    kept: list[bool] = []
    for row in zip(*(one.figures for one in ordered), strict=True):
        last = row[-1]
        assert all(figure.name == last.name for figure in row), row
        ratio = _ratio(last.value, row[tenth].value) if tenth is not None else math.nan
        verdicts = list(_verdicts(last, ratio))
        kept += [is_kept for _, is_kept in verdicts]
        cells = [last.name, last.unit, *(_text(figure.value) for figure in row), _text(ratio)]
        yield f"| {' | '.join(cells)} | {'; '.join(text for text, _ in verdicts)} |"
    yield ""
    yield f"{sum(kept)} of {len(kept)} limits are kept at scale {scales[-1]}."


def _tenth_of_last(ordered: Sequence[AtScale]) -> int | None:
    """Return the index of the scale that is a tenth of the last one."""
    near = [index for index, one in enumerate(ordered) if math.isclose(one.scale * 10, ordered[-1].scale)]
    return near[0] if near else None


def _ratio(value: float, base: float) -> float:
    return value / base if base else math.nan


def _verdicts(figure: Figure, ratio: float) -> Iterator[tuple[str, bool]]:
    """Yield each limit of a figure in words, and True if it is kept; growth only where it is known."""
    limit = figure.limit
    if limit is None:
        return
    yield _verdict(f"≤ {limit.most:g}", figure.value <= limit.most)
    if limit.growth is not None and not math.isnan(ratio):
        yield _verdict(f"growth ≤ {limit.growth:g}", ratio <= limit.growth)


def _verdict(limit: str, is_kept: bool) -> tuple[str, bool]:
    return f"{limit} {'ok' if is_kept else '**MISSED**'}", is_kept


def _text(value: float) -> str:
    """Return a count in full, and another number with three digits or all digits of its integer part."""
    if math.isnan(value):
        return ""
    if value == round(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
