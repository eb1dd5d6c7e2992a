"""Draws the answer of /v1/scaling."""

from __future__ import annotations

import pyarrow as pa

from losslake.figures.charts.scaling import scaling_chart
from losslake.figures.drawing import Drawing, Drawn
from losslake.figures.drawings.in_words import ends_in_words, never_in_words
from losslake.figures.drawings.known_regimes import KnownRegimes, known_regimes
from losslake.figures.drawings.other_searches import EXPLAINED, with_other_searches
from losslake.figures.drawings.series import goal_text, names_of, series_by_workload


def draw(drawing: Drawing) -> Drawn:
    """Steps to target by batch size, a series for each workload."""
    facts = drawing.facts
    common, series = series_by_workload(drawing)
    is_normalized = facts["normalize_to"] is not None
    known = known_regimes(drawing.rows) if len(series) == 1 and not is_normalized else KnownRegimes()
    series, has_ranges = with_other_searches(drawing, series)
    explained = _explained(drawing.rows, is_normalized, [EXPLAINED] if has_ranges else [], known)
    panel = drawing.panel(f"Steps to {goal_text(facts)}", common, names_of(series), explained)
    chart = scaling_chart(
        series,
        panel,
        perfect_scaling_of=series[0].label if series else None,
        is_normalized=is_normalized,
        regimes=known.regimes,
        links=drawing.links,
    )
    told = [*ends_in_words(series, "steps", " steps"), *never_in_words(series), *known.explained]
    return Drawn([chart], explained, told=told)


def _explained(rows: pa.Table, is_normalized: bool, of_bars: list[str], known: KnownRegimes) -> list[str]:
    unit = "relative to those at the batch size of normalize_to" if is_normalized else "of any trial"
    found = [f"Points: fewest steps {unit}. Thick bars: since the evaluation before.", *of_bars]
    if rows["steps"].null_count < rows.num_rows:
        found.append("Dashed: perfect scaling, half the steps for twice the batch.")
    if rows["steps"].null_count:
        found.append("Open triangles: no trial reached the target.")
    n_at_once = sum(steps == 0 for steps in rows["steps"].to_pylist())
    if n_at_once:
        found.append(f"Not drawn: {n_at_once} that reach it at step 0, which has no logarithm.")
    return [*found, *known.explained]
