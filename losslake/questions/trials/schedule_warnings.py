"""Warnings, in words, that results lie in different phases of their schedules of the learning rate.

Rankings of optimizers can flip while the learning rate decays (Wen et al. 2025, arXiv 2509.02046): a result before the
decay of one trial and another after the start of its own compare schedules, too. Nothing is said of answers in which
no result lies before a decay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from losslake.questions.release.workload_facts import workload_labels
from losslake.questions.trials.batch_size_words import joined
from losslake.questions.trials.schedules import Phase, phases
from losslake.questions.trials.search import Search
from losslake.questions.trials.study_results import FewestSteps
from losslake_schema.quantities import plural
from losslake_schema.reached import NEVER

_MOST_NAMED = 3


@dataclass(frozen=True)
class _Result:
    """The result of a study. name: of its workload, in words. decay_start: of its trial, NEVER for unknown."""

    name: str
    batch_size: int
    step: int
    phase: Phase | None
    decay_start: int


def phases_of_results(search: Search, results: FewestSteps) -> list[Phase | None] | None:
    """Return by study the phase of the schedule in which its result lies; None if no schedule is known."""
    return phases(search.facts.trials, results.row, results.steps)


def flips_among_sizes(search: Search, results: FewestSteps) -> Iterator[str]:
    """Yield a warning if batch sizes of a workload reach the target before and after the start of decay."""
    if phases_of_results(search, results) is None:
        return
    of_studies = _results_of(search, results)
    before, after = _before(of_studies), _after(of_studies)
    if before and after:
        yield (
            f"{search.facts.workload}: {_counted(before)} before the decay of the learning rate "
            f"({_example(before[0])}) and {_counted(after)} after its start ({_example(after[0])}): steps compare "
            "schedules, too, and rankings can flip during decay"
        )


def flips_among_workloads(pairs: Sequence[tuple[Search, FewestSteps]]) -> Iterator[str]:
    """Yield a warning if, at a batch size, workloads reach the target before and after the start of their decays.

    Another one if some do before it, and others have no known decay. pairs: of each workload, its search and results.
    """
    if len(pairs) < 2:
        return
    names = workload_labels([str(search.facts.workload) for search, _ in pairs]).short
    results = [
        result for search, steps in pairs for result in _results_of(search, steps, names[str(search.facts.workload)])
    ]
    results.sort(key=attrgetter("batch_size"))
    by_size = [[*group] for _, group in groupby(results, attrgetter("batch_size"))]
    compared = [group for group in by_size if len(group) > 1]
    flipped = [group for group in compared if _before(group) and _after(group)]
    without = [group for group in compared if _before(group) and not _after(group) and _unknown(group)]
    of_all = f"of {len(compared)} {plural('batch size', len(compared))}"
    if flipped:
        first, second = _before(flipped[0])[0], _after(flipped[0])[0]
        after = "the end of its schedule" if second.decay_start == NEVER else f"its own at step {second.decay_start:,}"
        yield (
            f"at {len(flipped)} {of_all}, a workload reaches the target before the decay of its learning rate and "
            f"another after the start of its own: at {first.batch_size}, {first.name} at step {first.step:,}, before "
            f"decay from step {first.decay_start:,}, and {second.name} at step {second.step:,}, after {after}: "
            "rankings can flip during decay"
        )
    if without:
        unknown = [*dict.fromkeys(each.name for group in without for each in _unknown(group))]
        more = [f"{len(unknown) - _MOST_NAMED} more"] if len(unknown) > _MOST_NAMED else []
        yield (
            f"at {len(without)} {of_all}, {_before(without[0])[0].name} reaches the target before the decay of its "
            f"learning rate, and no decay is known of {joined([*unknown[:_MOST_NAMED], *more])}: whether the order "
            "holds after decay is unknown"
        )


def _results_of(search: Search, results: FewestSteps, name: str = "") -> list[_Result]:
    """Return the results of the studies that have one."""
    trials, rows = search.facts.trials, results.row.tolist()
    known = phases_of_results(search, results) or [None] * len(rows)
    return [
        _Result(name, size, step, phase, int(trials.decay_start[row]))
        for size, row, step, phase in zip(search.facts.batch_sizes, rows, results.steps.tolist(), known, strict=True)
        if row != NEVER
    ]


def _before(results: Sequence[_Result]) -> list[_Result]:
    return [each for each in results if each.phase == "before_decay"]


def _after(results: Sequence[_Result]) -> list[_Result]:
    return [each for each in results if each.phase in ("decay", "finished")]


def _unknown(results: Sequence[_Result]) -> list[_Result]:
    return [each for each in results if each.phase is None]


def _counted(results: Sequence[_Result]) -> str:
    n = len(results)
    return f"{n} {plural('batch size', n)} {'reaches' if n == 1 else 'reach'} the target"


def _example(result: _Result) -> str:
    start = "" if result.decay_start == NEVER else f", with decay from {result.decay_start:,}"
    return f"{result.batch_size} at step {result.step:,}{start}"
