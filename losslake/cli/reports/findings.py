"""The report on the published collections: what they say about batch sizes, beside the claims of the literature."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from statistics import median
from string import Template
from typing import Any

import numpy as np

from losslake.analysis.measured_levels import stated
from losslake.cli.reports.algoperf import Standing, standings
from losslake.cli.reports.findings_charts import MOST_PROFILES, profiles_chart, rounds_chart
from losslake.cli.reports.markdown import NOTHING, holds, interval, number, share, table
from losslake.cli.reports.pooled_cases import Case, Round, logged_position, pooled_cases
from losslake.cli.reports.transitions import break_point
from losslake.questions.compare import QUESTION as COMPARE
from losslake.questions.compare import CompareParameters
from losslake.questions.release.known_names import display_name
from losslake.questions.release.view import ReleaseView
from losslake_schema.errors import LossLakeError

_FILES = resources.files("losslake.cli.reports")
_SMALL_P = 0.05
_LARGE_RESIDUAL = 0.15
_LARS_REACHED = 32768
_LARGE_FOR_SGD = 16384
"""The batch size of ResNet-50 in You et al. 2017."""
Values = Mapping[str, str]


def findings(view: ReleaseView, figures: str) -> tuple[str, Mapping[str, bytes]]:
    """Return the report as Markdown, and its charts as SVG by name. figures: path of the charts, relative to it.

    Raises LossLakeError if the release lacks a collection.
    """
    about = tomllib.loads(_FILES.joinpath("findings.toml").read_text("utf-8"))
    collections = [*about["collections"], *about["algoperf"]["collections"]]
    missing = set(collections) - {workload.collection for workload in view.workloads}
    if missing:
        why = f"release {view.number} has no workload of {', '.join(sorted(missing))}"
        raise LossLakeError(f"{why}: 'losslake ingest --each published/*/*.tar' ingests the published collections")
    cases, without_goal = pooled_cases(view, about["collections"], about["least_batch_sizes"], about["joined"])
    first = {case.path: case for case in reversed(cases)}
    rounds = {
        path: kept
        for path, case in sorted(first.items())
        if len(kept := [each for each in case.rounds if len(each.best) >= about["least_batch_sizes"]])
        >= about["least_rounds"]
    }
    resnet, bert = (about["pools"][name] for name in ("resnet", "bert"))
    tuned, self_tuned = (standings(view, each, about["algoperf"]) for each in about["algoperf"]["collections"])
    counted = [facts for workload, facts in view.workloads.items() if workload.collection in collections]
    values = {
        "figures": figures,
        "n_workloads": f"{len(counted):,}",
        "n_trials": f"{sum(len(facts.trials.trial_id) for facts in counted):,}",
        "n_flagged": f"{sum(int(np.count_nonzero(facts.trials.flagged)) for facts in counted):,}",
        "without_goal": ", ".join(f"`{name}`" for name in without_goal),
        **_regimes(cases, rounds.values()),
        **_rounds(first, rounds),
        "resnet_rounds": _round_table(rounds[resnet]),
        "bert_rounds": _round_table(rounds[bert]),
        "optimizer_table": _optimizers(first),
        "algoperf_table": _standings(tuned),
        "self_tuning_table": _standings(self_tuned),
        "n_drawn": str(MOST_PROFILES),
        **_large_batches(first[resnet], first[bert]),
        **_plain_sgd(first[about["pools"]["first_resnet"]]),
        "sgd_beside_lars": _conclusion(view, first[resnet], "lars", "sgd"),
        "answers": _answers(first, about["answer"]),
    }
    charts = {
        "resnet": rounds_chart(first[resnet], rounds[resnet]),
        "bert": rounds_chart(first[bert], rounds[bert]),
        "algoperf": profiles_chart(tuned),
    }
    return Template(_FILES.joinpath("findings.md").read_text("utf-8")).substitute(values), charts


def _regimes(cases: Sequence[Case], rounds: Iterable[Sequence[Round]]) -> Values:
    """Return the table of regimes and critical batch sizes, how many cases have them, and how much these differ."""
    headings = [
        "workload, goal", "batch sizes", "critical batch size", "useful until", "perfect scaling until", "lost",
        "trials, each",
    ]  # fmt: skip
    known = [(size, case.name) for case in cases if (size := case.equal.critical_batch_size) is not None]
    least, largest = min(known), max(known)
    factor = largest[0] / least[0]
    sizes = [[size for each in of_case if (size := each.critical_batch_size) is not None] for of_case in rounds]
    spreads = [max(of_case) / min(of_case) for of_case in sizes if len(of_case) > 1]
    fits = [case.equal.fit for case in cases]
    residuals = [fit["rms_log_residual"] for fit in fits if fit["rms_log_residual"] is not None]
    knees = [p for fit in fits if (p := fit["knee_sharpness_p_value"]) is not None]
    three = sum(case.transition.has_three_regimes for case in cases)
    return {
        "level": stated("critical-batch-size interval"),
        "level_of_bounds": stated("regimes"),
        "regime_table": table(headings, map(_regime_cells, cases)),
        "n_three_regimes": share(three, len(cases)),
        "holds_regimes": holds(three, len(cases)),
        "n_useful_inside": share(sum(case.transition.is_useful_inside for case in cases), len(cases)),
        "n_identifiable": share(len(known), len(cases)),
        "least_size": f"{number(least[0])} ({least[1]})",
        "largest_size": f"{number(largest[0])} ({largest[1]})",
        "size_factor": number(factor, 2),
        "round_factor": number(median(spreads), 2),
        "n_round_factors": str(len(spreads)),
        "holds_workloads": holds(sum(spread < factor for spread in spreads), len(spreads)),
        "rms": f"{median(residuals):.0%}",
        "n_close": share(sum(rms <= _LARGE_RESIDUAL for rms in residuals), len(residuals)),
        "n_other_knee": share(sum(p < _SMALL_P for p in knees), len(knees)),
        "holds_hyperbola": holds(sum(rms <= _LARGE_RESIDUAL for rms in residuals), len(residuals)),
        "least_lost": number(min(case.lost() for case in cases), 2),
        "most_lost": number(max(case.lost() for case in cases), 2),
    }


def _regime_cells(case: Case) -> list[str]:
    transition, equal, sizes = case.transition, case.equal, case.examples
    ends = [
        f"{break_point(row)} ({interval(row['lower_with_noise'], row['upper_with_noise'])})"
        for row in (transition.max_useful, transition.perfect_end)
    ]
    bounds = interval(equal.fit["lower"], equal.fit["upper"])
    size = number(equal.critical_batch_size)
    if equal.critical_batch_size is None:
        # The reason is the text between the workload's name and what the data have.
        size = (equal.why_not or "").split(": ")[1]
    return [
        f"{case.name}: {case.goal_text}",
        f"{len(sizes)}: {min(sizes):,} to {max(sizes):,}",
        f"{size} ({bounds})",
        *ends,
        f"{number(case.lost())} x",
        f"{case.n_trials:,}, {case.n_equal}",
    ]


def _rounds(first: Mapping[str, Case], rounds: Mapping[str, Sequence[Round]]) -> Values:
    """Return how batch sizes and examples changed from the first to the last round with enough batch sizes."""
    headings = [
        "workload", "rounds", "largest batch size", "useful until", "critical batch size", "fewest examples", "change",
    ]  # fmt: skip
    cells, fewer = [], 0
    for path, of_case in rounds.items():
        begin, end = of_case[0], of_case[-1]
        change = end.fewest_examples / begin.fewest_examples
        fewer += round(change, 2) < 1
        pairs = (
            (begin.name, end.name),
            (number(begin.sizes[-1]), number(end.sizes[-1])),
            (begin.useful_until, end.useful_until),
            (number(begin.critical_batch_size), number(end.critical_batch_size)),
            (number(begin.fewest_examples), number(end.fewest_examples)),
        )
        cells.append([first[path].name, *(" → ".join(pair) for pair in pairs), f"{round(change - 1, 2) + 0:+.0%}"])
    smaller = sum(of_case[-1].sizes[-1] < max(each.sizes[-1] for each in of_case) for of_case in rounds.values())
    return {
        "round_table": table(headings, cells),
        "n_fewer_examples": share(fewer, len(rounds)),
        "n_smaller_again": share(smaller, len(rounds)),
    }


def _round_table(rounds: Sequence[Round]) -> str:
    headings = [
        "round", "batch sizes", "trials", "useful until", "critical batch size", "fewest examples", "examples lost",
    ]  # fmt: skip
    rows = (
        [
            f"v{each.name}",
            f"{len(each.best)}: {each.sizes[0]:,.0f} to {each.sizes[-1]:,.0f}",
            f"{each.n_trials:,}",
            each.useful_until,
            number(each.critical_batch_size),
            number(each.fewest_examples),
            f"{number(each.lost)} x",
        ]
        for each in rounds
    )
    return table(headings, rows)


def _optimizers(first: Mapping[str, Case]) -> str:
    """Return the optimizers of each workload, the one with the largest batch size that reached the goal first."""
    rows = (_optimizer_cells(case) for _, case in sorted(first.items()))
    return table(["workload", "optimizers", "largest by"], rows, 3)


def _optimizer_cells(case: Case) -> list[str]:
    reached = [row for row in case.rows if row["best"] is not None]
    sizes: dict[str, list[int]] = {}
    for row in sorted(reached, key=lambda row: -row["batch_size"]):
        sizes.setdefault(row["optimizer"], []).append(row["batch_size"])
    largest = max(reached, key=lambda row: row["batch_size"])
    names = [
        f"{_optimizer(case, name)} {of_optimizer[-1]:,} to {of_optimizer[0]:,}" for name, of_optimizer in sizes.items()
    ]
    who = (largest["best"]["organisation"], largest["round"] and f"v{largest['round']}")
    return [case.name, ", ".join(names), ", ".join(filter(None, who)) or NOTHING]


def _optimizer(case: Case, name: str) -> str:
    return display_name("optimizer", replace(case.pool, optimizer=name))


def _standings(entries: Sequence[Standing]) -> str:
    headings = ["submission", "score", "targets reached", "fastest on", "steps beside the baseline's", "on"]
    rows = (
        [
            each.name,
            f"{each.score:.4f}",
            share(int(np.isfinite(each.ratios).sum()), len(each.ratios)),
            str(int((each.ratios == 1).sum())),
            f"{number(each.steps)} x" if each.steps else NOTHING,
            str(each.n_compared),
        ]
        for each in entries
    )
    return table(headings, rows)


def _at_least(case: Case, batch_size: int) -> tuple[int, int, list[str]]:
    """Return how many trials from a batch size on reached the goal, of how many, and the names of their optimizers."""
    large = [row for row in case.rows if row["batch_size"] >= batch_size]
    reached, trials = (sum(row[name] for row in large) for name in ("n_reached", "n_trials"))
    return reached, trials, sorted({_optimizer(case, row["optimizer"]) for row in large})


def _large_batches(resnet: Case, bert: Case) -> Values:
    """Return what the data say of LARS and LAMB at large batch sizes."""
    reached, trials, optimizers = _at_least(resnet, _LARS_REACHED)
    useful, size = resnet.transition.max_useful, resnet.equal
    return {
        "resnet_size": number(size.critical_batch_size),
        "resnet_interval": interval(size.fit["lower"], size.fit["upper"]),
        "resnet_useful": break_point(useful),
        "resnet_useful_bounds": interval(useful["lower_with_noise"], useful["upper_with_noise"]),
        "lars_size": f"{_LARS_REACHED:,}",
        "lars_trials": share(reached, trials),
        "holds_lars": holds(reached, trials),
        "lars_of": ", ".join(optimizers),
        "lars_largest": f"{max(resnet.examples):,}",
        "lars_lost": number(resnet.lost(_LARS_REACHED), 2),
        "bert_largest": f"{max(bert.examples):,}",
        "bert_lost": number(bert.lost(), 2),
    }


def _plain_sgd(case: Case) -> Values:
    """Return what the data say of SGD at large batch sizes; case: the first round, before LARS."""
    reached, trials, optimizers = _at_least(case, _LARGE_FOR_SGD)
    return {
        "sgd_size": f"{_LARGE_FOR_SGD:,}",
        "sgd_trials": share(reached, trials),
        "holds_sgd": holds(reached, trials),
        "sgd_of": " and ".join(optimizers),
        "sgd_goal": f"{case.goal.target:.1%}",
        "sgd_largest": f"{max(case.examples):,}",
        "sgd_lost": number(case.lost(), 2),
    }


def _conclusion(view: ReleaseView, case: Case, *optimizers: str) -> str:
    """Return the sentences that compare the second optimizer with the first."""
    workloads = [f"{case.path}/{name}" for name in optimizers]
    parameters = CompareParameters(workload=workloads, metric=case.metric, target=case.goal.target)
    (conclusion,) = COMPARE.answer(view, parameters).facts["conclusions"]
    return str(conclusion["in_words"])


def _answers(first: Mapping[str, Case], about: Sequence[Mapping[str, Any]]) -> str:
    """Return the answers to check by eye as a numbered list."""
    lines = []
    for place, each in enumerate(about, start=1):
        case, size = first[each["workload"]], each["batch_size"]
        (hit,) = (candidate.best[size] for candidate in case.rounds if candidate.name == each["round"])
        repository, _, path = hit["source"].partition("/")
        answer = f"{case.name}, v{each['round']}, batch size {size:,}: **{hit['steps']:,} steps**"
        link = f"[{path}](https://github.com/mlcommons/{repository}/blob/HEAD/{path})"
        lines.append(f"{place}. {answer}, {logged_position(hit)}, value {number(hit['value'], 5)}. {link}")
    return "\n".join(lines)
