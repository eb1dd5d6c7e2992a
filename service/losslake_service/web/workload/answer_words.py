"""The answer in sentences: who reaches the target, where the regimes end, and the critical batch size.

What to know before relying on the answer: warnings of the answers, and what they left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from losslake.analysis.break_points import BreakPoint
from losslake.output.answer import Answer
from losslake.questions.analysis.regimes import AS_DEFINED
from losslake_schema.names import Workload
from losslake_service.web.goals import GoalShown
from losslake_service.web.workload.key_figures import SweepRow, estimate_words, percent, rough, size_list
from losslake_service.web.workload.studies import StudyShown

_AT_B_C = "there training takes twice the fewest steps and twice the fewest examples"
_UNKNOWN = "The data doesn't tell the critical batch size"
_REFUSALS = {
    "too few": "a fit needs at least 4 batch sizes that reach the target",
    "no bend": "the largest batch size hardly needs more examples than the most frugal one, so no bend is in sight",
    "no scaling": "steps hardly fall anywhere as the batch size grows",
    "extrapolated": "its interval reaches far beyond the batch sizes that were measured",
}


@dataclass(frozen=True)
class RegimeEnds:
    """Where the regimes end, with the tolerances that this is meant with."""

    perfect: BreakPoint
    useful: BreakPoint
    perfect_tau: float
    useful_tau: float


def regime_ends(regimes: Answer) -> RegimeEnds:
    """Those of the only workload of an answer."""
    facts = regimes.facts
    points = {
        fact["break_point"]: BreakPoint(fact["batch_size"], fact["lower"], fact["upper"], fact["censoring"] or "none")
        for fact in facts["break_points"]
        if fact["variant"] == AS_DEFINED
    }
    return RegimeEnds(
        points["perfect_scaling_end"],
        points["max_useful_batch_size"],
        facts["perfect_scaling_tau"],
        facts["max_useful_tau"],
    )


def regime_sentences(ends: RegimeEnds) -> tuple[str, ...]:
    """Where the regimes end; nothing where no trial reached the target."""
    if ends.perfect.batch_size is None or ends.useful.batch_size is None:
        return ()
    return _perfect(ends), _useful(ends)


def answer_sentences(
    goal: GoalShown, studies: Sequence[StudyShown], ends: RegimeEnds, row: SweepRow
) -> tuple[str, ...]:
    """The sentences, most important first."""
    usable = [study for study in studies if study.steps and study.batch_size]
    reach = tuple(_reach(goal, studies))
    if not usable:
        return reach
    if len(usable) == 1:
        return (*reach, f"Only batch size {usable[0].batch_size:,} has steps to count: nothing to compare it with.")
    rest = (_perfect(ends), _useful(ends), _critical(row))
    return (*rest, *reach) if all(study.steps for study in studies) else (*reach, *rest)


def _reach(goal: GoalShown, studies: Sequence[StudyShown]) -> Iterator[str]:
    reached = [study for study in studies if study.steps is not None]
    never = [study.batch_size for study in studies if study.steps is None]
    at_once = [study.batch_size for study in reached if not study.steps]
    if not reached:
        yield _nobody(goal, studies)
        return
    if len(studies) == 1:
        yield "The one batch size that was measured reaches the target."
    elif not never:
        yield f"{'Both' if len(studies) == 2 else f'All {len(studies)}'} batch sizes reach the target."
    else:
        yield f"{len(reached)} of {len(studies)} batch sizes reach the target; no trial does at {size_list(never)}."
    if at_once:
        yield (
            f"At {size_list(at_once)} the target is met at step 0, before any training: "
            "give a harder one to see how steps scale there."
        )


def _nobody(goal: GoalShown, studies: Sequence[StudyShown]) -> str:
    with_value = [study for study in studies if study.best_value is not None]
    if not with_value:
        return f"No completed trial has a finite value of {goal.metric}, so no target is reached."
    sign = 1 if goal.direction == "minimize" else -1
    best = min(with_value, key=lambda study: sign * (study.best_value or 0.0))
    return (
        f"No trial at any batch size reaches {goal.text}. The best value is {best.best_value:.5g}, at batch size "
        f"{best.batch_size:,}: choose an easier target."
    )


def _perfect(ends: RegimeEnds) -> str:
    point, within = ends.perfect, percent(ends.perfect_tau)
    if point.batch_size is None:
        return "Where perfect scaling ends can't be told."
    size = f"{point.batch_size:,.0f}"
    if point.censoring == "left":
        return (
            f"Already beyond the smallest batch size that reaches the target, {size}, doubling the batch doesn't halve "
            f"the steps (within {within})."
        )
    if point.lower is None:
        return (
            f"The data doesn't tell up to which batch size doubling it halves the steps: the next one above {size} "
            "wasn't trained for long enough."
        )
    halves = f"Doubling the batch halves the steps up to batch size {size} (within {within})"
    return f"{halves}, and nothing shows that this ends there." if point.censoring == "right" else f"{halves}."


def _useful(ends: RegimeEnds) -> str:
    point, within = ends.useful, percent(ends.useful_tau)
    if point.batch_size is None:
        return "From which batch size on steps fall no more can't be told."
    size = f"{point.batch_size:,.0f}"
    if point.censoring == "right":
        return f"Steps still fall at the largest batch size that reaches the target, {size}: larger ones may save more."
    if point.censoring == "left":
        return f"No batch size saves steps over the smallest that reaches the target, {size} (within {within})."
    return f"Beyond batch size {size} larger ones save no more steps (within {within})."


def _critical(row: SweepRow) -> str:
    lower, upper = row.critical_batch_size_lower, row.critical_batch_size_upper
    if row.critical_batch_size is not None:
        value, low, high = estimate_words(row.critical_batch_size, lower, upper)
        interval = f" (90% interval {low} to {high})" if low and high else ""
        return f"Critical batch size {value}{interval}: {_AT_B_C}."
    bounds = [f"{words} {rough(end)}" for words, end in (("at least", lower), ("at most", upper)) if end is not None]
    known = f" It is {' and '.join(bounds)} (90% interval)." if bounds else ""
    return f"{_UNKNOWN}: {_REFUSALS[row.not_identifiable or 'too few']}.{known}"


def caveats(workload: Workload, answers: Iterable[Answer]) -> tuple[str, ...]:
    """In words, each once, without the workload's name, which the page says already."""
    found = [text for answer in answers for name in ("left_out", "warnings") for text in answer.facts[name]]
    return tuple(dict.fromkeys(as_sentences(workload, found)))


def as_sentences(workload: Workload, texts: Sequence[str]) -> list[str]:
    """Phrases of an answer as sentences of a page about their workload."""
    return [_sentence(text.removeprefix(f"{workload}: ").removeprefix(f"{workload}, ")) for text in texts]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
