"""The report on the published collections: what they say about batch sizes, beside the claims of the literature."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from string import Template
from typing import Any

import numpy as np

from losslake.analysis.best_setting import FEWEST_SEEDS
from losslake.analysis.measured_levels import measured, stated
from losslake.questions.release.view import ReleaseView
from losslake_schema.errors import LossLakeError
from studies.reports.algoperf import Standing, standings
from studies.reports.batch_warmup import batch_warmup
from studies.reports.benchmarks import Benchmark, benchmarks, logged_position
from studies.reports.decay import decay_report
from studies.reports.findings_charts import MOST_PROFILES, profiles_chart, rounds_chart
from studies.reports.laws import laws
from studies.reports.markdown import NOTHING, interval, number, share, table
from studies.reports.transitions import break_point, disjoint_pairs

_FILES = resources.files("studies.reports")
_SMALL_P = 0.05
_LARGE_RESIDUAL = 0.15
_LARS_REACHED, _LARGE_FOR_SGD = 32768, 16384
"""The batch size of ResNet-50 in You et al. 2017, and half of it."""
_PARTS = ("algoperf", "laws", "warmup", "decay")
Values = Mapping[str, str]


def findings(view: ReleaseView, figures: str) -> tuple[str, Mapping[str, bytes]]:
    """Return the report as Markdown, and its charts as SVG by name. figures: path of the charts, relative to it.

    Raises LossLakeError if the release lacks a collection.
    """
    about = tomllib.loads(_FILES.joinpath("findings.toml").read_text("utf-8"))
    used = [*about["collections"], *(each for name in _PARTS for each in about[name]["collections"])]
    missing = set(used) - {workload.collection for workload in view.workloads}
    if missing:
        why = f"release {view.number} has no workload of {', '.join(sorted(missing))}"
        raise LossLakeError(f"{why}: 'losslake ingest --each published/*/*.tar' ingests the published collections")
    known = benchmarks(view, about)
    by_path = {each.path: each for each in known}
    resnet, bert, first_resnet = (by_path[about["pools"][name]] for name in ("resnet", "bert", "first_resnet"))
    tuned, self_tuned = (standings(view, each, about["algoperf"]) for each in about["algoperf"]["collections"])
    values = {
        "figures": figures,
        "least_batch_sizes": str(about["least_batch_sizes"]),
        **_logs(view, about, known, resnet),
        **_sizes(known, about["pools"]["unit"]),
        **_rounds(known),
        **_resnet(resnet, first_resnet),
        "bert_largest": f"{max(bert.counted):,}",
        "bert_size": number(bert.transition.critical_batch_size),
        "algoperf_table": _standings(tuned),
        "self_tuning_table": _standings(self_tuned),
        "n_drawn": str(MOST_PROFILES),
        "best_score": f"{tuned[0].name} {tuned[0].score:.4f}",
        **laws(view, about["laws"]["pattern"]),
        "warmup": batch_warmup(view, about["warmup"]["constant"], about["warmup"]["growing"]),
        "decay": decay_report(view, about["decay"]["collections"]),
        "answers": "\n".join(_answers(by_path, about["answers"])),
    }
    charts = {
        "resnet": rounds_chart(resnet),
        "bert": rounds_chart(bert),
        "algoperf": profiles_chart(tuned),
    }
    return Template(_FILES.joinpath("findings.md").read_text("utf-8")).substitute(values), charts


def _logs(view: ReleaseView, about: Mapping[str, Any], known: Sequence[Benchmark], resnet: Benchmark) -> Values:
    """Return what the logs are: how many, which of them reached the goal, who submitted them, and how often."""
    counts: dict[str, int] = {}
    for workload, facts in view.workloads.items():
        counts[workload.collection] = counts.get(workload.collection, 0) + len(facts.trials.trial_id)
    flagged = sum(
        int(np.count_nonzero(facts.trials.flagged))
        for workload, facts in view.workloads.items()
        if workload.collection in about["collections"]
    )
    complete = [row for each in known for row in each.trials if row["status"] == "COMPLETE"]
    seeds = [row["n_trials"] for each in known for row in each.transition.rows]
    headings = [
        "benchmark", "rounds", "reached, of COMPLETE", "MISSED", "INCOMPLETE", "same runs", "batch sizes",
        "of one submitter", "trials each",
    ]  # fmt: skip
    return {
        "n_trials": f"{sum(counts.values()):,}",
        "n_workloads": f"{len(view.workloads):,}",
        "n_mlperf": f"{sum(len(each.trials) for each in known):,}",
        "n_algoperf": f"{sum(counts[name] for name in about['algoperf']['collections']):,}",
        "n_copies": f"{sum(len(row['also_in']) for each in known for row in each.trials):,}",
        "n_other_bytes": f"{sum(row['n_other_bytes'] for each in known for row in each.trials):,}",
        "n_flagged": str(flagged),
        "n_complete": f"{len(complete):,}",
        "n_reached": f"{sum(row['steps'] is not None for row in complete):,}",
        "n_missed": str(sum(each.statuses["MISSED"] for each in known)),
        "n_incomplete": str(sum(each.statuses["INCOMPLETE"] for each in known)),
        "n_resnet_sizes": str(len(resnet.transition.rows)),
        "n_resnet_alone": str(resnet.of_one_submitter),
        "least_seeds": str(min(seeds)),
        "most_seeds": f"{max(seeds):,}",
        "logs_table": table(headings, map(_logs_cells, known)),
    }


def _logs_cells(each: Benchmark) -> list[str]:
    seeds = [row["n_trials"] for row in each.transition.rows]
    reached = sum(row["steps"] is not None for row in each.trials if row["status"] == "COMPLETE")
    return [
        each.name,
        " to ".join(f"v{name}" for name in dict.fromkeys((next(iter(each.rounds)), [*each.rounds][-1]))),
        f"{reached:,} of {each.statuses['COMPLETE']:,}",
        str(each.statuses["MISSED"]),
        str(each.statuses["INCOMPLETE"]),
        f"{sum(len(row['also_in']) for row in each.trials):,}",
        str(len(seeds)),
        str(each.of_one_submitter),
        f"{min(seeds):,} to {max(seeds):,}",
    ]


def _sizes(known: Sequence[Benchmark], unit: str) -> Values:
    """Return the tables of critical batch sizes by unit, and what they say of the claims."""
    ordered = sorted(known, key=lambda each: (each.unit, each.transition.critical_batch_size or 0, each.name))
    sized = [each for each in ordered if each.transition.interval is not None]
    refused = [each for each in ordered if each.transition.interval is None]
    alike = [each for each in sized if each.unit == unit]
    fits = [each.transition.fit for each in sized]
    least, most = alike[0], alike[-1]
    disjoint = disjoint_pairs([each.transition for each in alike])
    ends = ["perfect scaling until", "useful until", "lost", "trials, submitters"]
    common = ["unit", "benchmark, target", "counted batch sizes"]
    shapes = [each.transition for each in known]
    tests = ("knee_sharpness_p_value", "runs_test_p_value")
    few = [
        f"{each.name} at batch size {row['batch_size']:,}"
        for each in known
        for row in each.transition.rows
        if row["n_trials"] < FEWEST_SEEDS
    ]
    rejected = sum(any(p is not None and p < _SMALL_P for p in map(fit.get, tests)) for fit in fits)
    return {
        "level": stated("critical-batch-size interval"),
        "outside": measured("critical-batch-size outside"),
        "level_of_bounds": stated("regimes"),
        "size_table": table([*common, "B_c", "other curves", *ends], map(_size_cells, sized), 2),
        "refused_table": table([*common, "why", "bounds", *ends], map(_size_cells, refused), 2),
        "few_trials": " and ".join(few),
        "n_sized": share(len(sized), len(known)),
        "n_perfect_inside": share(sum(shape.perfect_end["censoring"] is None for shape in shapes), len(known)),
        "n_useful_inside": share(sum(shape.is_useful_inside for shape in shapes), len(known)),
        "n_three_regimes": share(sum(shape.has_three_regimes for shape in shapes), len(known)),
        "n_disjoint": share(*disjoint),
        "least_size": _with_interval(least),
        "largest_size": _with_interval(most),
        "n_close": share(sum((each.rms or 1) <= _LARGE_RESIDUAL for each in shapes), len(shapes)),
        "n_rejected": share(rejected, len(fits)),
        "least_lost": number(min(each.lost(max(each.counted)) for each in known), 2),
        "most_lost": number(max(each.lost(max(each.counted)) for each in known), 2),
    }


def _with_interval(each: Benchmark) -> str:
    transition = each.transition
    return f"{number(transition.critical_batch_size)} ({interval(*transition.interval or (None, None))}, {each.name})"


def _size_cells(each: Benchmark) -> list[str]:
    transition, counted = each.transition, each.counted
    fit, size = transition.fit, transition.critical_batch_size
    bounds = interval(fit["lower"], fit["upper"])
    if size is None:
        sizes = [(transition.why_not or "").partition(": ")[2], bounds]
    else:
        others = [size, fit["knee_critical_batch_size"], fit["exponent_critical_batch_size"]]
        mark = "" if min(counted) <= size <= max(counted) else "*"
        sizes = [f"{number(size)}{mark} ({bounds})", interval(min(others), max(others))]
    ends = [
        f"{break_point(row)} ({interval(row['lower_with_noise'], row['upper_with_noise'])})"
        for row in (transition.perfect_end, transition.max_useful)
    ]
    trials = each.counted_trials
    return [
        each.unit,
        f"{each.name}: {each.goal_text}",
        f"{len(counted)} of {len(transition.rows)}: {min(counted):,} to {max(counted):,}",
        *sizes,
        *ends,
        f"{number(each.lost(max(counted)))} x",
        f"{len(trials):,}, {len({row['submitter'] for row in trials})}",
    ]


def _rounds(known: Sequence[Benchmark]) -> Values:
    """Return how steps at equal batch sizes, and batch sizes, changed from round to round."""
    changes = [(each, each.change) for each in known if each.change is not None]
    headings = ["benchmark", "rounds", "common batch sizes", "trials", "median", "range", "spacing"]
    cells, fewer, more = [], 0, 0
    for each, change in changes:
        fewer, more = fewer + (change.middle < 1 - change.spacing), more + (change.middle > 1 + change.spacing)
        cells.append(
            [
                each.name,
                f"v{change.first} → v{change.last}",
                str(len(change.ratios)),
                " → ".join(f"{count:,}" for count in change.n_trials),
                f"{change.middle:.2f}",
                f"{change.ratios[0]:.2f} to {change.ratios[-1]:.2f}",
                f"{change.spacing:.2f}",
            ]
        )
    largest = [[rows[-1]["batch_size"] for rows in each.rounds.values() if rows] for each in known]
    followed = [sizes for sizes in largest if len(sizes) > 1]
    return {
        "round_table": table(headings, cells),
        "n_in_both": str(sum(change.n_in_both for _, change in changes)),
        "n_fewer": share(fewer, len(changes)),
        "n_more": share(more, len(changes)),
        "n_smaller_again": str(sum(sizes[-1] < max(sizes) for sizes in followed)),
        "n_followed": str(len(followed)),
    }


def _resnet(resnet: Benchmark, first: Benchmark) -> Values:
    """Return what the data say of ResNet-50 at large batch sizes; first: in v0.5, before LARS."""
    large, of_sgd = resnet.from_on(_LARS_REACHED), first.from_on(_LARGE_FOR_SGD)
    others = [row["status"] for row in large if row["steps"] is None]
    useful, perfect = resnet.transition.max_useful, resnet.transition.perfect_end
    return {
        "resnet_goal": f"{resnet.goal.target:.1%}",
        "resnet_size": number(resnet.transition.critical_batch_size),
        "resnet_interval": interval(*resnet.transition.interval or (None, None)),
        "resnet_perfect": break_point(perfect),
        "resnet_useful": break_point(useful),
        "resnet_useful_bounds": interval(useful["lower_with_noise"], useful["upper_with_noise"]),
        "lars_trials": share(len(large) - len(others), len(large)),
        "lars_others": ", ".join(f"{others.count(status)} {status}" for status in sorted(set(others))) or "none",
        "lars_of": ", ".join(sorted({row["optimizer"].upper() for row in large})),
        "lars_largest": f"{max(resnet.counted):,}",
        "sgd_most": f"{max(row['batch_size'] for row in resnet.trials if row['optimizer'] == 'sgd'):,}",
        "sgd_trials": share(sum(row["steps"] is not None for row in of_sgd), len(of_sgd)),
        "sgd_goal": f"{first.goal.target:.1%}",
    }


def _standings(entries: Sequence[Standing]) -> str:
    headings = ["submission", "score", "targets reached", "fastest on", "steps relative to the baseline", "on"]
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


def _answers(known: Mapping[str, Benchmark], about: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """Yield the answers to check by eye, as a list."""
    for asked in about:
        each, size = known[asked["workload"]], asked["batch_size"]
        (result,) = (row for row in each.results if row["batch_size"] == size)
        workload = result["trial_workload"].rpartition("/")[2]
        (trial,) = (
            row
            for row in each.trials
            if (row["optimizer"], row["batch_size"], row["trial_id"]) == (workload, size, result["trial_id"])
        )
        answer = f"{each.name}, batch size {size:,}: **{trial['steps']:,} steps**"
        link = f"[{trial['source'].partition('/')[2]}]({trial['url']})"
        yield f"* {answer}, {logged_position(trial)}, value {number(trial['value'], 5)}, v{trial['round']}. {link}"
