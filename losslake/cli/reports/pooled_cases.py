"""Datasets and models of published collections, each with the trials of all its workloads, at a goal and by round."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np

from losslake.analysis.break_points import max_useful_batch_size
from losslake.analysis.critical_batch_size import fit_curve, mccandlish2018
from losslake.cli.reports.markdown import number
from losslake.cli.reports.transitions import Transition, transitions
from losslake.questions.release.known_names import display_name
from losslake.questions.release.pool import ANY
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.selection import Goal
from losslake_schema.names import Workload
from losslake_schema.reached import Floats

ReportRow = dict[str, Any]
_FORMULA = re.compile(r"(\w+)(?: x ([\d.]+))? / ([\d.]+)")


@dataclass(frozen=True)
class Round:
    """The batch sizes of a round that reached the goal, ascending, with the best trial of each.

    n_trials: of the round.
    """

    name: str
    best: Mapping[int, ReportRow]
    n_trials: int

    @property
    def sizes(self) -> Floats:
        """The batch sizes."""
        return np.array(list(self.best), np.float64)

    @property
    def steps(self) -> Floats:
        """The steps to the goal."""
        return np.array([row["steps"] for row in self.best.values()], np.float64)

    @property
    def useful_until(self) -> str:
        """The largest useful batch size, or the bound that it is."""
        point = max_useful_batch_size(self.sizes, self.steps)
        return ("≥ " if point.censoring == "right" else "") + number(point.batch_size)

    @cached_property
    def critical_batch_size(self) -> float | None:
        """B_c, without an interval, since trials are unequal; None if the data support none."""
        before = [np.nan if row["previous_step"] is None else row["previous_step"] for row in self.best.values()]
        return mccandlish2018(fit_curve(self.sizes, self.steps, previous_steps=before)).value

    @property
    def fewest_examples(self) -> float:
        """The fewest examples to the goal at any batch size."""
        return float((self.sizes * self.steps).min())

    @property
    def lost(self) -> float:
        """The examples to the goal at the largest batch size over the fewest."""
        return float(self.sizes[-1] * self.steps[-1]) / self.fewest_examples


@dataclass(frozen=True)
class Case:
    """The trials of all workloads of a dataset and model, at a goal.

    pool: the pattern of the workloads. transition: of all trials. equal: of the first n_equal trials of each batch
    size. rows: of by_round.sql. joined: a joined goal in words; empty for another.
    """

    pool: Workload
    metric: str
    goal: Goal
    direction: str
    transition: Transition
    n_equal: int
    equal: Transition
    rows: Sequence[ReportRow]
    joined: str = ""

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
    def examples(self) -> dict[int, int]:
        """The examples to the goal by batch size that reached it, ascending."""
        return {row["batch_size"]: row["examples"] for row in self.transition.rows if row["examples"]}

    def lost(self, batch_size: int | None = None) -> float:
        """Return the examples at a batch size, by default the largest, over the fewest."""
        return self.examples[batch_size or max(self.examples)] / min(self.examples.values())

    @property
    def n_trials(self) -> int:
        """The number of trials that count."""
        return sum(row["n_trials"] for row in self.transition.rows)

    @cached_property
    def rounds(self) -> list[Round]:
        """The rounds, the earliest first."""
        rounds = []
        for name in sorted({row["round"] for row in self.rows if row["round"]}, key=_by_numbers):
            rows = [row for row in self.rows if row["round"] == name]
            best: dict[int, ReportRow] = {}
            for row in sorted(rows, key=lambda row: row["batch_size"]):
                hit, before = row["best"], best.get(row["batch_size"])
                if hit is not None and (before is None or hit["steps"] < before["steps"]):
                    best[row["batch_size"]] = hit | {"batch_size": row["batch_size"], "optimizer": row["optimizer"]}
            rounds.append(Round(name, best, sum(row["n_trials"] for row in rows)))
        return rounds


def _by_numbers(name: str) -> list[float]:
    return [float(part) for part in re.findall(r"\d+", name)]


def pooled_cases(
    view: ReleaseView, collections: Sequence[str], least: int, joined: Mapping[str, str]
) -> tuple[list[Case], list[str]]:
    """Return the datasets and models with a goal and at least this many batch sizes, and the names of others with none.

    A case with several goals is returned for each, one with a joined goal only for that. joined: such goals in words,
    by metric.
    """
    sizes: dict[Workload, set[int]] = {}
    for workload, facts in view.workloads.items():
        if workload.collection in collections:
            sizes.setdefault(replace(workload, optimizer=ANY), set()).update(facts.batch_sizes)
    many = [pool for pool in sorted(sizes) if len(sizes[pool]) >= least]
    goals = {
        (replace(goal.workload, optimizer=ANY), goal.metric, Goal(goal.target, goal.comparator)) for goal in view.goals
    }
    has_joined = {pool for pool, metric, _ in goals if metric in joined}
    cases = [
        replace(_case(view, pool, metric, goal), joined=joined.get(metric, ""))
        for pool, metric, goal in sorted(goals, key=str)
        if pool in many and (metric in joined or pool not in has_joined)
    ]
    return cases, [str(pool) for pool in many if pool not in {case.pool for case in cases}]


def _case(view: ReleaseView, pool: Workload, metric: str, goal: Goal) -> Case:
    about = {"workload": [str(pool)], "metric": metric, "target": goal.target}
    (transition,) = transitions(view, [pool], about)
    n_equal = min(row["n_trials"] for row in transition.rows if row["steps"])
    (equal,) = transitions(view, [pool], about | {"trials": n_equal})
    rows = report_rows(view, "by_round", about | {"workload": str(pool)})
    return Case(pool, metric, goal, view.metrics[metric].direction or "minimize", transition, n_equal, equal, rows)


def report_rows(view: ReleaseView, name: str, parameters: Mapping[str, Any]) -> list[ReportRow]:
    """Return the rows of the statement `losslake/cli/reports/<name>.sql`."""
    text = resources.files("losslake.cli.reports").joinpath(f"{name}.sql").read_text("utf-8")
    rows: list[ReportRow] = view.cursor().sql(text, params=dict(parameters)).to_arrow_table().to_pylist()
    return rows


def logged_position(hit: ReportRow) -> str:
    """Return the position of an evaluation as its log states it, by the formula of its steps: epoch_num 85."""
    formula = _FORMULA.fullmatch(hit["position"] or "")
    if formula is None:
        return f"`step_num` {hit['steps']:,}"
    field, factor, size = formula.groups()
    return f"`{field}` {number(hit['steps'] * float(size) / float(factor or 1))}"
