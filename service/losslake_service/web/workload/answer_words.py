"""The answer in sentences: who reaches the target, where the regimes end, and the critical batch size.

What to know before relying on the answer: warnings of the answers, and what they left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from losslake.output.answer import Answer
from losslake.questions.regimes import AS_DEFINED
from losslake_schema.names import Workload
from losslake_service.web.goals import GoalShown
from losslake_service.web.templates import percent
from losslake_service.web.workload.key_figures import Row, estimate_words, rough

_MOST_LISTED = 6
_AT_B_C = "there training takes twice the fewest steps and twice the fewest examples"
_UNKNOWN = "The data doesn't tell the critical batch size"
_REFUSALS = {
    "too few": "a fit needs at least 4 batch sizes that reach the target",
    "no bend": "the largest batch size hardly needs more examples than the most frugal one, so no bend is in sight",
    "no scaling": "steps hardly fall anywhere as the batch size grows",
    "extrapolated": "its interval reaches far beyond the batch sizes that were measured",
}


def answer_sentences(goal: GoalShown, studies: Sequence[Row], regimes: Answer, target: Row) -> list[str]:
    """Return the sentences, most important first. studies, target: rows of the page's table and of the target sweep."""
    usable = [study for study in studies if study["steps"] and study["batch_size"]]
    reach = list(_reach(goal, studies))
    if not usable:
        return reach
    if len(usable) == 1:
        return [*reach, f"Only batch size {usable[0]['batch_size']:,} has steps to count: nothing to compare it with."]
    rest = [_perfect(regimes), _useful(regimes), _critical(target)]
    return [*rest, *reach] if all(study["steps"] for study in studies) else [*reach, *rest]


def regime_sentences(regimes: Answer) -> list[str]:
    """Return where the regimes end; nothing where no trial reached the target."""
    ends = [_end(regimes, "perfect_scaling_end"), _end(regimes, "max_useful_batch_size")]
    return [] if any(end["batch_size"] is None for end in ends) else [_perfect(regimes), _useful(regimes)]


def caveats(workload: Workload, answer: Answer) -> list[str]:
    """Return the warnings, each once, without the workload's name, which the page says already."""
    texts = [text for name in ("left_out", "warnings") for text in answer.facts[name]]
    return list(dict.fromkeys(as_sentences(workload, texts)))


def as_sentences(workload: Workload, texts: Sequence[str]) -> list[str]:
    """Return phrases of an answer as sentences of a page about their workload."""
    plain = [text.removeprefix(f"{workload}: ").removeprefix(f"{workload}, ") for text in texts]
    return [text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".") for text in plain]


def _reach(goal: GoalShown, studies: Sequence[Row]) -> Iterator[str]:
    reached = [study for study in studies if study["steps"] is not None]
    never = [study["batch_size"] for study in studies if study["steps"] is None]
    at_once = [study["batch_size"] for study in reached if not study["steps"]]
    if not reached:
        yield _nobody(goal, studies)
        return
    if len(studies) == 1:
        yield "The one batch size that was measured reaches the target."
    elif not never:
        yield f"{'Both' if len(studies) == 2 else f'All {len(studies)}'} batch sizes reach the target."
    else:
        yield f"{len(reached)} of {len(studies)} batch sizes reach the target; no trial does at {_size_list(never)}."
    if at_once:
        yield (
            f"At {_size_list(at_once)} the target is met at step 0, before any training: "
            "give a harder one to see how steps scale there."
        )


def _size_list(batch_sizes: Sequence[int]) -> str:
    """Return batch sizes 1, 2 and 4; of many only how many there are."""
    if len(batch_sizes) > _MOST_LISTED:
        return f"{len(batch_sizes)} batch sizes, {batch_sizes[0]:,} to {batch_sizes[-1]:,}"
    words = [f"{size:,}" for size in batch_sizes]
    if len(words) == 1:
        return f"batch size {words[0]}"
    return f"batch sizes {', '.join(words[:-1])} and {words[-1]}"


def _nobody(goal: GoalShown, studies: Sequence[Row]) -> str:
    with_value = [study for study in studies if study["best_value"] is not None]
    if not with_value:
        return f"No completed trial has a finite value of {goal.metric}, so no target is reached."
    sign = 1 if goal.direction == "minimize" else -1
    best = min(with_value, key=lambda study: sign * study["best_value"])
    return (
        f"No trial at any batch size reaches {goal.text}. The best value is {best['best_value']:.5g}, at batch size "
        f"{best['batch_size']:,}: choose an easier target."
    )


def _end(regimes: Answer, name: str) -> dict[str, Any]:
    """Return a break point of the only workload of an answer, as defined."""
    facts = regimes.facts["break_points"]
    return next(fact for fact in facts if fact["break_point"] == name and fact["variant"] == AS_DEFINED)


def _perfect(regimes: Answer) -> str:
    end, within = _end(regimes, "perfect_scaling_end"), percent(regimes.facts["perfect_scaling_tau"])
    if end["batch_size"] is None:
        return "Where perfect scaling ends can't be told."
    size = f"{end['batch_size']:,.0f}"
    if end["censoring"] == "left":
        return (
            f"Already beyond the smallest batch size that reaches the target, {size}, doubling the batch doesn't halve "
            f"the steps (within {within})."
        )
    if end["lower"] is None:
        return (
            f"The data doesn't tell up to which batch size doubling it halves the steps: the next one above {size} "
            "wasn't trained for long enough."
        )
    halves = f"Doubling the batch halves the steps up to batch size {size} (within {within})"
    return f"{halves}, and nothing shows that this ends there." if end["censoring"] == "right" else f"{halves}."


def _useful(regimes: Answer) -> str:
    end, within = _end(regimes, "max_useful_batch_size"), percent(regimes.facts["max_useful_tau"])
    if end["batch_size"] is None:
        return "From which batch size on steps fall no more can't be told."
    size = f"{end['batch_size']:,.0f}"
    if end["censoring"] == "right":
        return f"Steps still fall at the largest batch size that reaches the target, {size}: larger ones may save more."
    if end["censoring"] == "left":
        return f"No batch size saves steps over the smallest that reaches the target, {size} (within {within})."
    return f"Beyond batch size {size} larger ones save no more steps (within {within})."


def _critical(target: Row) -> str:
    lower, upper = target["critical_batch_size_lower"], target["critical_batch_size_upper"]
    if target["critical_batch_size"] is not None:
        value, low, high = estimate_words(target["critical_batch_size"], lower, upper)
        interval = f" (90% interval {low} to {high})" if low and high else ""
        return f"Critical batch size {value}{interval}: {_AT_B_C}."
    bounds = [f"{words} {rough(end)}" for words, end in (("at least", lower), ("at most", upper)) if end is not None]
    known = f" It is {' and '.join(bounds)} (90% interval)." if bounds else ""
    return f"{_UNKNOWN}: {_REFUSALS[target['not_identifiable'] or 'too few']}.{known}"
