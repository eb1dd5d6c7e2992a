"""The report on the bundled studies, which compares them with the findings of Shallue et al. 2019."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from string import Template
from typing import Any

from losslake.analysis.measured_levels import stated
from losslake.questions import compare, metaparameter_optima, quality
from losslake.questions.release.known_names import display_name
from losslake.questions.release.view import ReleaseView
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Workload
from losslake_schema.reached import goal_text
from studies.reports.markdown import interval, number, share, table
from studies.reports.transitions import Ratio, Transition, disjoint_pairs, ratio, transition_table, transitions

_FILES = resources.files("studies.reports")
_SMALL, _LARGE = 8, 128
"""Averages are over batch sizes up to the first, and from the second on."""
_LINEAR, _SQUARE_ROOT = 1.0, 0.5
_BUDGETS = {"steps": "equal steps", "examples": "equal examples", "unlimited": "all of each run"}
Values = Mapping[str, str]


@dataclass(frozen=True)
class Question:
    """A goal for every workload of the collection."""

    metric: str
    target: float

    def about(self, *workloads: Workload) -> dict[str, Any]:
        """Return the parameters of a question about workloads and the goal, over all COMPLETE trials."""
        return {"workload": [str(workload) for workload in workloads], "metric": self.metric, "target": self.target}

    def __str__(self) -> str:
        return goal_text(self.metric, "minimize", self.target)


@dataclass(frozen=True)
class Pair:
    """Two workloads that differ in the subject of the question. of: description of the pair."""

    question: str
    of: str
    first: Workload
    second: Workload


@dataclass(frozen=True)
class Subject:
    """The subject of the report: a collection, its goals and pairs of its workloads."""

    collection: str
    questions: tuple[Question, ...]
    pairs: tuple[Pair, ...]


def subject() -> Subject:
    """Return the subject from the data file."""
    document = tomllib.loads(_FILES.joinpath("bundled_studies.toml").read_text("utf-8"))
    collection = document["collection"]
    pairs = (
        Pair(of["question"], pair["of"], *(Workload.parse(f"{collection}/{pair[end]}") for end in ("from", "to")))
        for of in document["pairs"]
        for pair in of["workloads"]
    )
    return Subject(collection, tuple(Question(**goal) for goal in document["goals"]), tuple(pairs))


def bundled_studies(view: ReleaseView, figures: str) -> str:
    """Return the report as Markdown. figures: path of the figures of `losslake reproduce bundled`, relative to it.

    Raises LossLakeError if the release has none of the studies.
    """
    about = subject()
    workloads = sorted(workload for workload in view.workloads if workload.collection == about.collection)
    if not workloads:
        why = f"release {view.number} has no workload of collection {about.collection}"
        raise LossLakeError(f"{why}: ingest studies/data/bundled.tar.bz2 first")
    by_question = {question: transitions(view, workloads, question.about(*workloads)) for question in about.questions}
    by_workload = {question: {each.workload: each for each in cases} for question, cases in by_question.items()}
    values = {
        "release": str(view.number),
        "level": stated("critical-batch-size interval"),
        "figures": figures,
        "n_workloads": str(len(workloads)),
        "n_trials": f"{sum(len(view.workload(workload).trials.trial_id) for workload in workloads):,}",
        "goals": "\n".join(f"* {question}" for question in about.questions),
        **_regimes(by_question),
        **_sizes(list(by_question.values())),
        **_pairs(view, about, "momentum", by_workload),
        **_pairs(view, about, "width", by_workload),
        **_quality(view, about.questions[0], workloads),
        **_learning_rates(view, about.questions[0], workloads),
    }
    return Template(_FILES.joinpath("bundled_studies.md").read_text("utf-8")).substitute(values)


def _regimes(by_question: Mapping[Question, Sequence[Transition]]) -> Values:
    """Return the numbers of regimes, and the tables of their break points."""
    cases = [transition for each in by_question.values() for transition in each]
    identifiable = sum(case.critical_batch_size is not None for case in cases)
    residuals = [case.rms for case in cases if case.rms is not None]
    tables = [f"{question}:\n\n{transition_table(each)}" for question, each in by_question.items()]
    return {
        "n_three_regimes": share(sum(case.has_three_regimes for case in cases), len(cases)),
        "n_identifiable": share(identifiable, len(cases)),
        "n_useful_inside": share(sum(case.is_useful_inside for case in cases), len(cases)),
        "rms": f"{sum(residuals) / len(residuals):.0%}" if residuals else "unknown",
        "transition_tables": "\n\n".join(tables),
    }


def _sizes(by_question: Sequence[Sequence[Transition]]) -> Values:
    """Return how much the critical batch sizes of a goal differ."""
    known = [each.critical_batch_size for cases in by_question for each in cases]
    sizes = [size for size in known if size is not None]
    disjoint, pairs = (sum(counts) for counts in zip(*map(disjoint_pairs, by_question), strict=True))
    least, largest = min(sizes, default=None), max(sizes, default=None)
    return {
        "least_size": number(least),
        "largest_size": number(largest),
        "size_factor": number(largest / least if least and largest else None, 2),
        "n_disjoint": share(disjoint, pairs),
    }


@dataclass(frozen=True)
class _Change:
    """The change from the first workload of a pair to the second, at one goal.

    critical_batch_size: second over first. steps_at_small, steps_at_large: geometric mean of the second's steps over
    the first's, over the small and the large batch sizes; None if no batch size has both.
    """

    pair: Pair
    question: Question
    critical_batch_size: Ratio
    steps_at_small: float | None
    steps_at_large: float | None

    @property
    def cells(self) -> list[str]:
        """The cells of the row."""
        size = self.critical_batch_size
        return [
            self.pair.of,
            str(self.question),
            number(size.value),
            interval(size.lower, size.upper),
            number(self.steps_at_small),
            number(self.steps_at_large),
        ]


def _pairs(
    view: ReleaseView, about: Subject, name: str, by_question: Mapping[Question, Mapping[Workload, Transition]]
) -> Values:
    """Return the changes from one workload to the other, in the pairs of a question."""
    changes = [
        _change(view, pair, question, ratio(known[pair.first], known[pair.second]))
        for question, known in by_question.items()
        for pair in about.pairs
        if pair.question == name and pair.first in known and pair.second in known
    ]
    headings = [
        "from, to", "goal", "ratio of B_c", f"{stated('reproduce ratio')} interval",
        f"ratio of steps, B ≤ {_SMALL}", f"ratio of steps, B ≥ {_LARGE}",
    ]  # fmt: skip
    ratios = [[each.critical_batch_size for each in changes if each.question == goal] for goal in by_question]
    more = [share(sum(each.is_above_1 for each in of_goal), len(of_goal)) for of_goal in ratios]
    less = [share(sum(each.is_below_1 for each in of_goal), len(of_goal)) for of_goal in ratios]
    at_small = [each.steps_at_small for each in changes if each.steps_at_small is not None]
    at_large = [each.steps_at_large for each in changes if each.steps_at_large is not None]
    return {
        f"{name}_table": table(headings, (each.cells for each in changes)),
        f"{name}_grows": " and ".join(more),
        f"{name}_shrinks": " and ".join(less),
        f"{name}_small": share(sum(times < 1 for times in at_small), len(at_small)),
        f"{name}_large": share(sum(times < 1 for times in at_large), len(at_large)),
    }


def _change(view: ReleaseView, pair: Pair, question: Question, critical_batch_size: Ratio) -> _Change:
    parameters = compare.CompareParameters(**question.about(pair.first, pair.second))
    rows = compare.QUESTION.answer(view, parameters).table().to_pylist()
    times = {
        row["batch_size"]: row["ratio"]
        for row in rows
        if row["workload"] == str(pair.second) and row["ratio"] is not None
    }
    small = _geometric_mean([each for size, each in times.items() if size <= _SMALL])
    large = _geometric_mean([each for size, each in times.items() if size >= _LARGE])
    return _Change(pair, question, critical_batch_size, small, large)


def _geometric_mean(values: Sequence[float]) -> float | None:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def _quality(view: ReleaseView, question: Question, workloads: Sequence[Workload]) -> Values:
    """Return the shortfall in solution quality of the largest batch size, and its p-value, by kind of budget.

    Budgets are those that every batch size was trained for.
    """
    parameters = quality.QualityParameters(workload=list(map(str, workloads)), metric=question.metric)
    rows = quality.QUESTION.answer(view, parameters).facts["conclusions"]
    lost = {kind: [row["is_clear"] for row in rows if row["budget_kind"] == kind] for kind in _BUDGETS}
    headings = [
        "workload", "budget", "best value", "at B", "value at the largest B", "short by", "p",
    ]  # fmt: skip
    return {
        "quality_metric": question.metric,
        "quality_table": table(headings, map(_quality_cells, rows)),
        **{f"loss_{kind}": share(sum(each), len(each)) for kind, each in lost.items()},
    }


def _quality_cells(row: Mapping[str, Any]) -> list[str]:
    amount = "" if row["budget"] is None else f" ({row['budget']:,})"
    return [
        _short(Workload.parse(row["workload"])),
        _BUDGETS[row["budget_kind"]] + amount,
        number(row["best_value"]),
        f"{row['best_batch_size']:,}",
        number(row["largest_value"]),
        number(row["shortfall"]),
        number(row["p_value"]),
    ]


def _learning_rates(view: ReleaseView, question: Question, workloads: Sequence[Workload]) -> Values:
    """Return the growth of the best learning rate with the batch size, and which rules of thumb are possible."""
    parameters = metaparameter_optima.MetaparameterOptimaParameters(**question.about(*workloads))
    answer = metaparameter_optima.QUESTION.answer(view, parameters)
    exponents = {row["workload"]: row for row in answer.facts["exponents"]}
    optima = [row for row in answer.table().to_pylist() if row["trial_id"] is not None]
    cells = []
    for workload in workloads:
        row = exponents[str(workload)]
        at_edge = [bool(each["at_boundary"]) for each in optima if each["workload"] == str(workload)]
        cells.append(
            [
                _short(workload),
                number(row["exponent"], 2),
                interval(row["lower"], row["upper"]),
                "possible" if _is_possible(row, _SQUARE_ROOT) else "no",
                "possible" if _is_possible(row, _LINEAR) else "no",
                share(sum(at_edge), len(at_edge)),
            ]
        )
    known = [row for row in exponents.values() if row["exponent"] is not None]
    roots, linear = (sum(_is_possible(row, power) for row in known) for power in (_SQUARE_ROOT, _LINEAR))
    level = f"{stated('metaparameters exponent')} interval"
    headings = ["workload", "exponent", level, "square root", "linear", "optima at the edge of the search"]
    return {
        "learning_rate_goal": str(question),
        "learning_rate_table": table(headings, cells),
        "n_square_root": share(roots, len(known)),
        "n_linear": share(linear, len(known)),
    }


def _is_possible(row: Mapping[str, Any], exponent: float) -> bool:
    """Return True if the interval of the row contains an exponent."""
    return row["lower"] is not None and row["upper"] is not None and row["lower"] <= exponent <= row["upper"]


def _short(workload: Workload) -> str:
    return f"{workload.model} {display_name('optimizer', workload)}"
