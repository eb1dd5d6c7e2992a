"""The submissions of a release as rows: what their runs come to by the rules of their benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

from losslake.analysis.rcp import exact_olympic_mean
from losslake.questions.release.view import ReleaseView
from losslake.questions.results.references import Check, References
from losslake.questions.results.rules import SubmissionRules, round_key, rules_of
from losslake.questions.results.runs import Run, SubmissionKey, read_runs

T = TypeVar("T")
_HOUR = 3600
_NORMALIZED_SINCE = (2, 1)
# What the logs of trials can't be right in, in words of the runs concerned.
_FLAGGED = {
    "too_few_examples": "less than a quarter of the examples that neighbouring batch sizes allow",
    "small_epoch": "an epoch of less than half of the usual examples",
}
FLAGS = (*_FLAGGED, "sooner_than_references", "impossible_time", "copy", "fewer_runs", "more_runs", "not_reached")
_MOST_NAMED = 3
_CLOCK = "the time of run_start or of run_stop, or it falls"


@dataclass(frozen=True)
class Submissions:
    """All submissions of a release, as rows of the answer. n_left_out: logs whose names are too long."""

    rows: Sequence[Mapping[str, Any]]
    n_left_out: int


def submissions_of(view: ReleaseView) -> Submissions:
    """Return the submissions of a release, the newest round first; computed once."""
    return view.kept("submissions", lambda: _submissions(view))


def _submissions(view: ReleaseView) -> Submissions:
    runs_of, n_left_out = read_runs(view)
    names = _names(runs_of)
    references = References(view)
    in_submissions: dict[str, list[str]] = {}
    for key, runs in runs_of.items():
        for trial in dict.fromkeys(run.trial for run in runs):
            in_submissions.setdefault(trial, []).append(names[key])
    rows = []
    for key, runs in runs_of.items():
        others = Counter(other for run in runs for other in in_submissions[run.trial] if other != names[key])
        rows.append(_row(key, names[key], runs, sorted(others), references))
    rows.sort(key=_order)
    return Submissions(rows, n_left_out)


def _order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the place of a row: training first, the newest round first, by benchmark, division and time."""
    newest = [-part for part in round_key(row["round"])]
    time = row["time_s"]
    return (
        row["suite"] != "mlperf-training", row["suite"], newest, row["round"], row["benchmark"], row["division"] or "",
        time is None, time or 0.0, row["submission"],
    )  # fmt: skip


def _names(keys: Iterable[SubmissionKey]) -> dict[SubmissionKey, str]:
    """Return a name for each submission, numbered where only their folders differ."""
    names: dict[SubmissionKey, str] = {}
    count: Counter[str] = Counter()
    for key in sorted(keys, key=lambda each: each.folder):
        parts = (key.suite, key.round, key.division, key.entry, key.system, key.benchmark, key.scaling)
        name = "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts if part)
        count[name] += 1
        names[key] = name if count[name] == 1 else f"{name}#{count[name]}"
    return names


def _row(
    key: SubmissionKey, name: str, runs: Sequence[Run], also_in: list[str], references: References
) -> dict[str, Any]:
    rules = rules_of(key.suite, key.benchmark)
    timed = sorted((run for run in runs if run.is_reached and run.seconds is not None), key=_by_time)
    others = [run for run in runs if not (run.is_reached and run.seconds is not None)]
    seconds, reason = _time(key, runs, rules)
    examples = _examples(runs, rules)
    epoch = _only(run.epoch_examples for run in runs)
    is_weak = key.scaling == "weak"
    accelerators = None if is_weak else _only(run.accelerators for run in runs)
    workload = Counter(run.workload for run in runs).most_common(1)[0][0]
    checked = _check(key, runs, rules, references)
    flags = dict(_flags(key, runs, rules, checked, also_in))
    return {
        "submission": name,
        "suite": key.suite,
        "round": key.round,
        "division": key.division,
        "organisation": key.organisation,
        "system": key.system,
        "benchmark": key.benchmark,
        "scaling": key.scaling,
        "workload": str(workload),
        "dataset": workload.dataset,
        "model": workload.model,
        "optimizer": workload.optimizer,
        "batch_size": _only(run.batch_size for run in runs),
        "accelerator": _only(run.accelerator for run in runs),
        "accelerators": None if accelerators is None else round(accelerators),
        "n_runs": len(runs),
        "n_required": rules and rules.runs,
        "n_not_reached": sum(not run.is_reached for run in runs),
        "time_s": None if seconds is None else float(seconds),
        "time_reason": reason,
        "fastest_s": float(timed[0].seconds or 0) if timed else None,
        "slowest_s": float(timed[-1].seconds or 0) if timed else None,
        "run_times_s": [float(run.seconds or 0) for run in timed],
        "accelerator_hours": None
        if seconds is None or accelerators is None
        else float(seconds * Fraction(accelerators) / _HOUR),
        "examples": None if examples is None else float(examples),
        "epochs": None if examples is None or epoch is None else float(examples / Fraction(epoch)),
        "rcp": None if checked.passes is None else "pass" if checked.passes else "fail",
        "rcp_ground": checked.ground,
        "rcp_by": checked.by,
        "rcp_factor": checked.factor,
        "scored_s": _scored(key, seconds, checked),
        "rcp_in_words": checked.in_words,
        "flags": list(flags),
        "flags_in_words": list(flags.values()),
        "also_in": also_in,
        "trials": [run.trial for run in (*timed, *others)],
        "logs": [run.log for run in (*timed, *others)],
    }


def _by_time(run: Run) -> tuple[Decimal, tuple[int, str, str]]:
    return run.seconds or Decimal(), run.order


def _only(values: Iterable[T]) -> T | None:
    """Return the value that all have; None if they differ."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def _time(key: SubmissionKey, runs: Sequence[Run], rules: SubmissionRules | None) -> tuple[Fraction | None, str | None]:
    """Return MLPerf's time to train, or the reason for none."""
    if key.scaling == "weak":
        return None, "weak scaling is scored by models trained per minute, not by the time of one"
    if rules is None:
        return None, f"the number of runs that {key.benchmark} requires isn't known"
    if len(runs) != rules.runs:
        return None, _other_number(runs, rules)
    counted, n_without = _counted(runs, rules)
    if n_without > rules.not_reached or len(counted) < (rules.first_converged or 0):
        allowed = f"at most {rules.not_reached} may"
        missed = sum(not run.is_reached for run in runs)
        return None, f"{missed} of the {len(runs)} runs did not reach the target, and {allowed}"
    times = [run.seconds for run in counted if run.seconds is not None]
    if len(times) < len(counted):
        n = len(counted) - len(times)
        lack = "1 run lacks" if n == 1 else f"{n} runs lack"
        return None, f"{lack} {_CLOCK}"
    return exact_olympic_mean(times, n_without, rules.trimmed), None


def _scored(key: SubmissionKey, seconds: Fraction | None, checked: Check) -> float | None:
    """Return the time as MLPerf's tables state it; None where it isn't known.

    Source: mlcommons/training_policies at a5abbf5 (2022-08), training_rules.adoc: times of submissions that converge
    sooner than the reference are normalized to it.
    """
    numbers = round_key(key.round)
    is_of_division = (key.suite, key.division) == ("mlperf-training", "closed")
    is_normalized = is_of_division and min(numbers) >= 0 and numbers >= _NORMALIZED_SINCE
    factor = checked.factor if is_normalized else 1.0
    return None if seconds is None or factor is None else float(seconds * Fraction(factor))


def _counted(runs: Sequence[Run], rules: SubmissionRules) -> tuple[list[Run], int]:
    """Return the runs that reached the target, of which only the first may count, and how many count as slower."""
    counted = [run for run in runs if run.is_reached][: rules.first_converged]
    return counted, 0 if rules.first_converged else len(runs) - len(counted)


def _other_number(runs: Sequence[Run], rules: SubmissionRules) -> str:
    if len(runs) < rules.runs:
        return f"{len(runs)} of the {rules.runs} runs that the rules require are stored"
    return f"{len(runs)} runs are stored and the rules require {rules.runs}: which of them count isn't known"


def _examples(runs: Sequence[Run], rules: SubmissionRules | None) -> Fraction | None:
    """Return the olympic mean of the examples to the target; None where runs lack them or are of another number."""
    if rules is None or len(runs) != rules.runs:
        return None
    counted, n_without = _counted(runs, rules)
    examples = [Decimal(run.examples) for run in counted if run.examples is not None]
    if len(examples) < len(counted):
        return None
    return exact_olympic_mean(examples, n_without, rules.trimmed)


def _check(key: SubmissionKey, runs: Sequence[Run], rules: SubmissionRules | None, references: References) -> Check:
    """Return the check of a submission, undecided where it can't be made."""
    if key.division != "closed" or key.scaling == "weak" or rules is None:
        why = "the check is for the time to train in the closed division"
        return Check(None, "no_reference", why)
    if not references.points(key.suite, key.round, key.benchmark, rules):
        why = f"the release has no reference points for {key.benchmark} in round {key.round}"
        return Check(None, "no_reference", why)
    batch_size = _only(run.batch_size for run in runs)
    if len(runs) != rules.runs:
        return Check(None, "unusable", _other_number(runs, rules))
    if batch_size is None:
        return Check(None, "unusable", "the runs differ in batch size")
    if any(run.is_reached and run.examples is None for run in runs):
        return Check(None, "unusable", "the examples to the target of some runs aren't known")
    examples = [float(run.examples or 0) if run.is_reached else float("inf") for run in runs]
    return references.check(key.suite, key.round, key.benchmark, rules, batch_size, examples)


def _flags(
    key: SubmissionKey, runs: Sequence[Run], rules: SubmissionRules | None, checked: Check, also_in: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the flags of a submission, and each in words."""
    for rule, words in _FLAGGED.items():
        n = sum(rule in run.flagged for run in runs)
        if n:
            yield rule, f"{n} of {len(runs)} runs have {words}"
    if checked.passes is False:
        yield "sooner_than_references", checked.in_words
    n = sum(run.is_reached and run.seconds is None for run in runs)
    if n:
        yield "impossible_time", f"{n} of {len(runs)} runs lack {_CLOCK}"
    n = sum(run.is_copy for run in runs)
    if n:
        more = f" and {len(also_in) - _MOST_NAMED} more" if len(also_in) > _MOST_NAMED else ""
        yield "copy", f"{n} of {len(runs)} runs were submitted before: {', '.join(also_in[:_MOST_NAMED])}{more}"
    if rules is None or key.scaling == "weak":
        return
    if len(runs) != rules.runs:
        yield "fewer_runs" if len(runs) < rules.runs else "more_runs", _other_number(runs, rules)
    n = sum(not run.is_reached for run in runs)
    if n > rules.not_reached:
        yield "not_reached", f"{n} of {len(runs)} runs did not reach the target, and at most {rules.not_reached} may"
