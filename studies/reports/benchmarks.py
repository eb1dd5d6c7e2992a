"""Benchmarks of published collections: the trials of all workloads of a dataset and model, at a goal and by round."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from itertools import combinations
from statistics import median
from typing import Any

from losslake.analysis.best_setting import FEWEST_SEEDS
from losslake.questions.release.known_names import display_name
from losslake.questions.release.pool import ANY
from losslake.questions.release.view import ReleaseView
from losslake.questions.scaling import QUESTION as SCALING
from losslake.questions.scaling import ScalingParameters
from losslake.questions.trials.selection import Goal
from losslake_schema.names import Workload
from studies.reports.markdown import number
from studies.reports.transitions import Transition, transitions

ReportRow = dict[str, Any]
_FORMULA = re.compile(r"(\w+)(?: x ([\d.]+))? / ([\d.]+)")
_FEWEST_COMMON = 3


@dataclass(frozen=True)
class Change:
    """The steps of the last round over those of the first, at the batch sizes that both have.

    ratios: ascending. spacing: the median distance of evaluations, relative to steps. n_trials: of both rounds there,
    of which n_in_both were submitted in both.
    """

    first: str
    last: str
    ratios: Sequence[float]
    spacing: float
    n_trials: tuple[int, int]
    n_in_both: int

    @property
    def middle(self) -> float:
        """The median ratio."""
        return median(self.ratios)


@dataclass(frozen=True)
class Benchmark:
    """The trials of all workloads of a dataset and model, at a goal.

    pool: the pattern of the workloads. unit: what batch sizes count. joined: a joined goal in words; empty for another.
    trials: of benchmark_trials.sql. results: of /v1/scaling. rounds: likewise by round, the earliest first, without
    batch sizes of fewer than 3 trials of one setting, or that didn't reach the goal.
    """

    pool: Workload
    metric: str
    goal: Goal
    direction: str
    unit: str
    joined: str
    transition: Transition
    trials: Sequence[ReportRow]
    results: Sequence[ReportRow]
    rounds: Mapping[str, Sequence[ReportRow]]

    @property
    def path(self) -> str:
        """The pattern without its last part: mlperf-training/imagenet/resnet."""
        return str(self.pool).rpartition("/")[0]

    @property
    def name(self) -> str:
        """The model and the dataset, as people call them, and the part of the collection if it is one: (v0.5)."""
        part = self.pool.collection.partition("/")[2]
        return f"{display_name('model', self.pool)}, {display_name('dataset', self.pool)}" + f" ({part})" * bool(part)

    @property
    def goal_text(self) -> str:
        """The goal as a formula, without the split; the words of a joined one."""
        return self.joined or self.goal.in_words(self.metric.removeprefix("val/"), self.direction)

    @cached_property
    def counted(self) -> dict[int, int]:
        """The examples to the goal, by batch size that isn't dominated, ascending."""
        rows = self.transition.rows
        return {row["batch_size"]: row["examples"] for row in rows if row["examples"] and not row["is_dominated"]}

    @cached_property
    def counted_trials(self) -> list[ReportRow]:
        """The trials of batch sizes that aren't dominated."""
        return [row for row in self.trials if row["batch_size"] in self.counted and row["status"] != "INCOMPLETE"]

    @cached_property
    def statuses(self) -> Counter[str]:
        """The number of trials of each status."""
        return Counter(row["status"] for row in self.trials)

    @property
    def of_one_submitter(self) -> int:
        """The number of batch sizes that one submitter alone submitted."""
        submitters: dict[int, set[str]] = {}
        for row in self.trials:
            submitters.setdefault(row["batch_size"], set()).add(row["submitter"])
        return sum(len(names) == 1 for names in submitters.values())

    def lost(self, batch_size: int) -> float:
        """Return the examples at a batch size over the fewest."""
        return self.counted[batch_size] / min(self.counted.values())

    def from_on(self, batch_size: int) -> list[ReportRow]:
        """Return the trials of a batch size and larger ones."""
        return [row for row in self.trials if row["batch_size"] >= batch_size]

    @cached_property
    def change(self) -> Change | None:
        """The change from the earliest round that has 3 batch sizes in common with a later one, to the last such."""
        pairs = [
            (first, last)
            for first, last in combinations(self.rounds, 2)
            if len(_common(self.rounds[first], self.rounds[last])) >= _FEWEST_COMMON
        ]
        if not pairs:
            return None
        first, last = [pair for pair in pairs if pair[0] == pairs[0][0]][-1]
        rows = _common(self.rounds[first], self.rounds[last])
        sizes = {before["batch_size"] for before, _ in rows}
        return Change(
            first,
            last,
            sorted(after["steps"] / before["steps"] for before, after in rows),
            median(row["resolution"] for pair in rows for row in pair),
            (sum(before["n_trials"] for before, _ in rows), sum(after["n_trials"] for _, after in rows)),
            sum(row["round"] == first and last in row["also_in"] and row["batch_size"] in sizes for row in self.trials),
        )


def _common(first: Sequence[ReportRow], last: Sequence[ReportRow]) -> list[tuple[ReportRow, ReportRow]]:
    """Return the rows of both rounds, by batch size that both have."""
    by_size = {row["batch_size"]: row for row in last}
    return [(row, by_size[row["batch_size"]]) for row in first if row["batch_size"] in by_size]


def benchmarks(view: ReleaseView, about: Mapping[str, Any]) -> list[Benchmark]:
    """Return the datasets and models with a goal and many batch sizes. about: findings.toml.

    A benchmark with several goals is returned for each, one with a joined goal only for that.
    """
    sizes: dict[Workload, set[int]] = {}
    for workload, facts in view.workloads.items():
        if workload.collection in about["collections"]:
            sizes.setdefault(replace(workload, optimizer=ANY), set()).update(facts.fixed_sizes)
    goals = {
        (replace(goal.workload, optimizer=ANY), goal.metric, Goal(goal.target, goal.comparator)) for goal in view.goals
    }
    has_joined = {pool for pool, metric, _ in goals if metric in about["joined"]}
    return [
        _benchmark(view, pool, metric, goal, about)
        for pool, metric, goal in sorted(goals, key=str)
        if len(sizes.get(pool, ())) >= about["least_batch_sizes"]
        and (metric in about["joined"] or pool not in has_joined)
    ]


def _benchmark(view: ReleaseView, pool: Workload, metric: str, goal: Goal, about: Mapping[str, Any]) -> Benchmark:
    asked = {"workload": [str(pool)], "metric": metric, "target": goal.target}
    (transition,) = transitions(view, [pool], asked)
    trials = report_rows(view, "benchmark_trials", asked | {"workload": str(pool)})
    rounds = {
        name: [row for row in _results(view, asked | {"where": [f"round={name}"]}) if _is_usual(row)]
        for name in sorted({row["round"] for row in trials if row["round"]}, key=_by_numbers)
    }
    return Benchmark(
        pool,
        metric,
        goal,
        view.metrics[metric].direction or "minimize",
        about["units"][pool.model],
        about["joined"].get(metric, ""),
        transition,
        trials,
        _results(view, asked),
        rounds,
    )


def _results(view: ReleaseView, asked: Mapping[str, Any]) -> list[ReportRow]:
    rows: list[ReportRow] = SCALING.answer(view, ScalingParameters(**asked)).table().to_pylist()
    return rows


def _is_usual(row: ReportRow) -> bool:
    return row["steps"] is not None and (row["n_seeds"] or 0) >= FEWEST_SEEDS


def _by_numbers(name: str) -> list[float]:
    return [float(part) for part in re.findall(r"\d+", name)]


def report_rows(view: ReleaseView, name: str, parameters: Mapping[str, Any]) -> list[ReportRow]:
    """Return the rows of the statement `studies/reports/<name>.sql`."""
    text = resources.files("studies.reports").joinpath(f"{name}.sql").read_text("utf-8")
    rows: list[ReportRow] = view.cursor().sql(text, params=dict(parameters)).to_arrow_table().to_pylist()
    return rows


def logged_position(hit: ReportRow) -> str:
    """Return the position of an evaluation as its log states it, by the formula of its steps: epoch_num 85."""
    formula = _FORMULA.fullmatch(hit["position"] or "")
    if formula is None:
        return f"`step_num` {hit['steps']:,}"
    field, factor, size = formula.groups()
    return f"`{field}` {number(hit['steps'] * float(size) / float(factor or 1))}"
