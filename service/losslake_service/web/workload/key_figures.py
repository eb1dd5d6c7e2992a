"""The key figures of a target: a number and a note each. key_figures.js makes the same while the slider moves.

A target's row of the target sweep: what the page knows of any target at once.
Numbers as the sentences have them.
What can be chosen on the page: the metric, one of the workload's goals, and the target.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from typing import Any

from losslake.questions.analysis.target_sweep import TargetGrid, target_sweep
from losslake.questions.workload_facts import WorkloadFacts
from losslake_service.web.chart import Chart
from losslake_service.web.goals import goals_of
from losslake_service.web.page import PageAsked
from losslake_service.web.workload.state import WorkloadAsked


@dataclass(frozen=True)
class SweepRow:
    """Fields as in the answer's row."""

    target: float
    coverage: float
    fewest_steps: int | None
    perfect_scaling_end: int | None
    perfect_scaling_end_censoring: str | None
    max_useful_batch_size: int | None
    max_useful_batch_size_censoring: str | None
    critical_batch_size: float | None
    critical_batch_size_lower: float | None
    critical_batch_size_upper: float | None
    not_identifiable: str | None

    @property
    def as_json(self) -> str:
        """The same for scripts."""
        return json.dumps(asdict(self), allow_nan=False)


@dataclass(frozen=True)
class TargetReach:
    """How the workload depends on its target. hardest_for_all, limiting_batch_size: None if one has no value."""

    n_breakpoints: int
    hardest_for_all: float | None
    limiting_batch_size: int | None
    hardest_for_any: float | None


@dataclass(frozen=True)
class SweepShown:
    """The sweep at the target that is looked at, and what it says of all of them."""

    row: SweepRow
    reach: TargetReach
    n_batch_sizes: int


def sweep_shown(asked: WorkloadAsked) -> SweepShown:
    """Ask the target sweep about the one target."""
    target = asked.goal.target
    answer = target_sweep(asked.page.view, asked.selection, grid=TargetGrid(target, target, 1, "linear"))
    found = answer.table().to_pylist()[0]
    summary = answer.facts["summaries"][0]
    return SweepShown(
        SweepRow(**{name: found[name] for name in SweepRow.__dataclass_fields__}),
        TargetReach(**{name: summary[name] for name in TargetReach.__dataclass_fields__}),
        len(asked.facts.batch_sizes),
    )


_MOST_LISTED = 6


def rough(number: float, digits: int = 2) -> str:
    """To two significant digits, as an estimate deserves: 13, 1,200, 0.0071."""
    return f"{float(f'{number:.{digits}g}'):,.12g}"


def estimate_words(value: float, lower: float | None, upper: float | None) -> tuple[str, str, str]:
    """An estimate with its interval, to three digits where two don't tell them apart; empty for an end that isn't."""
    for digits in (2, 3):
        words = rough(value, digits)
        ends = ["" if end is None else rough(end, digits) for end in (lower, upper)]
        if words not in ends:
            break
    return words, ends[0], ends[1]


def percent(share: float) -> str:
    """A tolerance: 20%."""
    return f"{share:.0%}"


def size_list(batch_sizes: Sequence[int]) -> str:
    """Batch sizes 1, 2 and 4; of many only how many there are."""
    if len(batch_sizes) > _MOST_LISTED:
        return f"{len(batch_sizes)} batch sizes, {batch_sizes[0]:,} to {batch_sizes[-1]:,}"
    words = [f"{size:,}" for size in batch_sizes]
    if len(words) == 1:
        return f"batch size {words[0]}"
    return f"batch sizes {', '.join(words[:-1])} and {words[-1]}"


@dataclass(frozen=True)
class KeyFigure:
    """A number with its label and a note; name: by which scripts find it."""

    name: str
    label: str
    value: str
    note: str


@cache
def words() -> dict[str, Any]:
    """The words of key_figures.toml."""
    return tomllib.loads(
        resources.files("losslake_service.web.workload").joinpath("key_figures.toml").read_text("utf-8")
    )


def words_for_scripts(asked: WorkloadAsked) -> str:
    """The same as JSON, with what is the same for every target filled in."""
    sign = "<" if asked.goal.direction == "minimize" else ">"
    fixed = {"metric": asked.goal.metric, "sign": sign, "workload": str(asked.workload)}
    return json.dumps(words() | {"fixed": fixed | {"all": len(asked.facts.batch_sizes)}})


def key_figures(row: SweepRow, n_batch_sizes: int) -> tuple[KeyFigure, ...]:
    """What a row of the sweep says, in the order of the page."""
    said, labels, notes = words(), words()["labels"], words()["notes"]
    value, note = _critical(row)
    reached = said["reached"].format(reached=f"{n_reached(row, n_batch_sizes):,}", all=f"{n_batch_sizes:,}")
    steps = said["none"] if row.fewest_steps is None else f"{row.fewest_steps:,}"
    perfect = _end(row.perfect_scaling_end, row.perfect_scaling_end_censoring)
    useful = _end(row.max_useful_batch_size, row.max_useful_batch_size_censoring)
    return (
        KeyFigure("reached", labels["reached"], reached, ""),
        KeyFigure("steps", labels["steps"], steps, notes["steps"]),
        KeyFigure("perfect", labels["perfect"], perfect, notes["perfect"]),
        KeyFigure("useful", labels["useful"], useful, notes["useful"]),
        KeyFigure("critical", labels["critical"], value, note),
    )


def n_reached(row: SweepRow, n_batch_sizes: int) -> int:
    """How many batch sizes reach the target."""
    return round(row.coverage * n_batch_sizes)


def spoken(asked: WorkloadAsked, row: SweepRow) -> str:
    """The target as the slider says it."""
    said = words()
    n_batch_sizes = len(asked.facts.batch_sizes)
    return str(said["spoken"].format(goal=asked.goal.text, reached=n_reached(row, n_batch_sizes), all=n_batch_sizes))


def _end(size: int | None, censoring: str | None) -> str:
    if size is None:
        return str(words()["none"])
    return str(words()[censoring or "exact"].format(size=f"{size:,}"))


def _critical(row: SweepRow) -> tuple[str, str]:
    """The critical batch size with its interval, or why there is none, with the bounds that hold."""
    said = words()
    ends = {
        name: rough(end)
        for name, end in (("lower", row.critical_batch_size_lower), ("upper", row.critical_batch_size_upper))
        if end is not None
    }
    if row.critical_batch_size is not None:
        bounds = (row.critical_batch_size_lower, row.critical_batch_size_upper)
        value, lower, upper = estimate_words(row.critical_batch_size, *bounds)
        return value, said["interval"].format(lower=lower, upper=upper) if lower and upper else ""
    why = said["refusals"][row.not_identifiable]
    form = {0: "{why}", 2: said["between"]}.get(len(ends), said["at_least" if "lower" in ends else "at_most"])
    return said["none"], form.format(why=why, **ends)


_STOPS = 100


@dataclass(frozen=True)
class MetricChoice:
    """A metric that the workload measures."""

    name: str
    is_shown: bool


@dataclass(frozen=True)
class GoalLink:
    """A goal of the workload, who set it, and the page about it."""

    text: str
    source: str
    url: str
    is_shown: bool


@dataclass(frozen=True)
class Slider:
    """The slider of targets.

    stops: where its stops come from. row: of the target that is shown, as JSON. words: those that its script fills in,
    as JSON. target, spoken: the target as it is shown, and as it is read out.
    """

    stops: str
    row: str
    words: str
    target: str
    spoken: str


def metric_choices(facts: WorkloadFacts, shown: str | None) -> tuple[MetricChoice, ...]:
    """All metrics, in their order."""
    return tuple(MetricChoice(name, name == shown) for name in facts.measured)


def goal_links(page: PageAsked, facts: WorkloadFacts, asked: WorkloadAsked | None) -> tuple[GoalLink, ...]:
    """The workload's own goals."""
    shown = asked and (asked.goal.metric, asked.goal.target)
    return tuple(
        GoalLink(
            text=goal.text,
            source=goal.source,
            url=page.page_of(facts.workload, metric=goal.metric, target=goal.target),
            is_shown=(goal.metric, goal.target) == shown,
        )
        for goal in goals_of(page.view, facts)
    )


def slider(asked: WorkloadAsked, sweep: Chart, row: SweepRow) -> Slider:
    """The slider of a metric. sweep: the chart of its sweep."""
    stops = f"{sweep.data('json')}&n_targets={_STOPS}"
    return Slider(
        stops,
        row.as_json,
        words_for_scripts(asked),
        asked.goal.text.removeprefix(asked.goal.metric).strip(),
        spoken(asked, row),
    )
