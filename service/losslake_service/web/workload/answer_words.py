"""The answer in sentences: the batch sizes that reach the target, the regimes, and the critical batch size.

The caveats of the answer: its warnings, and what it left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from losslake.analysis.identifiability import FEWEST_BATCH_SIZES
from losslake.analysis.measured_levels import measured, stated
from losslake.output.answer import Answer
from losslake.questions.regimes import AS_DEFINED, end_in_words
from losslake.questions.trials.batch_size_words import joined
from losslake.questions.trials.scaling_curve import TUNED_WORSE
from losslake_schema.names import Workload
from losslake_schema.quantities import amount, plural
from losslake_service.web.goals import PageGoal
from losslake_service.web.templates import percent
from losslake_service.web.workload.key_figures import WORDS, AnswerRow, estimate_words, rough
from losslake_service.web.workload.request import FEWEST_FOR_SCALING, WorkloadRequest

_MOST_LISTED = 6
_INTERVAL = f"{stated('critical-batch-size interval')} interval"
_HELD_OUTSIDE = f"{measured('critical-batch-size outside')} of simulations"
# Beyond this factor between its bounds, the end of a regime says too little to be stated first.
_WIDEST = 8


def answer_sentences(
    request: WorkloadRequest, studies: Sequence[AnswerRow], regimes: Answer | None, target: AnswerRow
) -> list[str]:
    """Return the sentences, most important first.

    studies: rows of the table. regimes: None where the page shows none. target: row of the target sweep.
    """
    everything, studies = studies, [study for study in studies if study["batch_size"]]
    if not studies:
        return [*_scheduled(request, everything), *_reach(request.goal, everything)]
    usable = [study for study in studies if study["steps"] and study["batch_size"] and not study["is_dominated"]]
    reach = list(_reach(request.goal, studies))
    if regimes is None or len(usable) < FEWEST_FOR_SCALING:
        return [*_amounts(request, studies), *_scheduled(request, everything), *reach]
    rest = [*regime_sentences(regimes, studies), _critical(target, usable)]
    rest = [*rest, *_scheduled(request, everything)]
    return [*rest, *reach] if all(study["steps"] for study in studies) else [*reach, *rest]


def _scheduled(request: WorkloadRequest, studies: Sequence[AnswerRow]) -> Iterator[str]:
    """Yield the least of what is counted of the trials that change their batch size."""
    for study in studies:
        if not study["batch_size"] and study["amount"] is not None:
            name = request.page.view.schedule_name(request.facts)
            yield f"With a batch size that changes ({name}), the least is {amount(study['amount'])} {request.noun}."


def _amounts(request: WorkloadRequest, studies: Sequence[AnswerRow]) -> Iterator[str]:
    """Yield how the least of what is counted changes with the batch size; nothing where it is known nowhere."""
    counted = [study for study in studies if study["amount"]]
    if not counted:
        return
    first, best = counted[0], min(counted, key=lambda study: study["amount"])
    noun = request.noun
    if len(counted) == 1:
        why = "the only one that was measured" if len(studies) == 1 else "the only one where it is known"
        yield f"The least is {amount(first['amount'])} {noun}, at batch size {first['batch_size']:,}, {why}."
        return
    other = best if best is not first else counted[-1]
    if "seconds" in noun and first["hardware"] != other["hardware"]:
        yield from _on_other_hardware(noun, best, first if best is not first else other)
        return
    change = first["amount"] / other["amount"]
    ends = f"from {amount(first['amount'])} to {amount(other['amount'])}"
    words = (
        f"fall {ends}, {amount(change)} times fewer"
        if change >= 1
        else f"rise {ends}, {amount(1 / change)} times as many"
    )
    larger = f"{amount(other['batch_size'] / first['batch_size'])} times as large"
    yield f"From batch size {first['batch_size']:,} to {other['batch_size']:,}, {larger}, {noun} to the target {words}."
    if "seconds" in noun and first["hardware"] is None:
        yield "On which hardware times were measured isn't known."


def _on_other_hardware(noun: str, best: AnswerRow, other: AnswerRow) -> Iterator[str]:
    """Yield the least times of two batch sizes on different hardware, without a ratio that would seem theirs."""
    here, there = (
        f"{amount(row['amount'])} at batch size {row['batch_size']:,}, on "
        f"{row['accelerator'] or 'accelerators not named'} ({row['hardware'] or 'system not known'})"
        for row in (best, other)
    )
    yield f"The fewest {noun} to the target are {here}, beside {there}."
    yield "The hardware differs, so these times don't tell what the batch size saves."


def regime_sentences(regimes: Answer, studies: Sequence[AnswerRow]) -> list[str]:
    """Return sentences about the ends of the regimes and dominated batch sizes; none if no trial reached the target.

    studies: the rows of the answer, or those with their steps and is_dominated.
    """
    ends = [_end(regimes, "perfect_scaling_end"), _end(regimes, "max_useful_batch_size")]
    if any(end["batch_size"] is None for end in ends):
        return []
    sizes = [row["batch_size"] for row in studies if row["steps"] and not row["is_dominated"]]
    (workload,) = map(Workload.parse, regimes.facts["workloads"])
    dominated = [text for text in regimes.facts["left_out"] if text.endswith(TUNED_WORSE)]
    return [_perfect(regimes, min(sizes)), _useful(regimes, max(sizes)), *as_sentences(workload, dominated)]


def caveats(workload: Workload, answer: Answer) -> list[str]:
    """Return the distinct warnings of an answer, without the workload's name."""
    texts = [text for name in ("left_out", "warnings") for text in answer.facts[name]]
    return list(dict.fromkeys(as_sentences(workload, texts)))


def as_sentences(workload: Workload, texts: Sequence[str]) -> list[str]:
    """Return texts of an answer as sentences, without the workload's name."""
    plain = [text.removeprefix(f"{workload}: ").removeprefix(f"{workload}, ") for text in texts]
    return [text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".") for text in plain]


def _reach(goal: PageGoal, studies: Sequence[AnswerRow]) -> Iterator[str]:
    reached = [study for study in studies if study["steps"] is not None]
    never = [study["batch_size"] for study in studies if study["steps"] is None and not study["n_reached"]]
    too_few = [study["batch_size"] for study in studies if study["steps"] is None and study["n_reached"]]
    at_once = [study["batch_size"] for study in reached if not study["steps"]]
    if not reached:
        yield _nobody(goal, studies)
        return
    if len(studies) == 1:
        n = studies[0]["n_trials"]
        yield (
            f"{studies[0]['n_reached']:,} of {n:,} trials reach the target."
            if n > 1
            else "Its trial reaches the target."
        )
    elif not never and not too_few:
        yield f"{'Both' if len(studies) == 2 else f'All {len(studies)}'} batch sizes reach the target."
    else:
        parts = [f"{len(reached)} of {len(studies)} batch sizes reach the target"]
        if never:
            parts.append(f"no trial does at {_size_list(never)}")
        if too_few:
            parts.append(f"fewer than half of the trials of any setting do at {_size_list(too_few)}")
        yield f"{'; '.join(parts)}."
    if at_once:
        yield (
            f"At {_size_list(at_once)} the target is met at step 0, before any training: "
            "choose a harder target to see how steps scale there."
        )


def _size_list(batch_sizes: Sequence[int]) -> str:
    """Return a list in words, such as batch sizes 1, 2 and 4; only the number and range of many."""
    if len(batch_sizes) > _MOST_LISTED:
        return f"{len(batch_sizes)} batch sizes, {batch_sizes[0]:,} to {batch_sizes[-1]:,}"
    return f"{plural('batch size', len(batch_sizes))} {joined([f'{size:,}' for size in batch_sizes])}"


def _nobody(goal: PageGoal, studies: Sequence[AnswerRow]) -> str:
    with_value = [study for study in studies if study["best_value"] is not None]
    if not with_value:
        return f"No completed trial has a finite value of {goal.metric}, so no target is reached."
    if n_reached := sum(study["n_reached"] for study in studies):
        n_trials = sum(study["n_trials"] for study in studies)
        return (
            f"Fewer than half of the trials of any setting reach {goal.text}: {n_reached:,} of {n_trials:,} trials do."
        )
    sign = 1 if goal.direction == "minimize" else -1
    best = min(with_value, key=lambda study: sign * study["best_value"])
    return (
        f"No trial at any batch size reaches {goal.text}. The best value is {best['best_value']:.5g}, at batch size "
        f"{best['batch_size']:,}: choose an easier target."
    )


def _end(regimes: Answer, name: str) -> dict[str, Any]:
    """Return a break point of the answer's only workload, by the standard definition."""
    facts = regimes.facts["break_points"]
    return next(fact for fact in facts if fact["break_point"] == name and fact["variant"] == AS_DEFINED)


def _perfect(regimes: Answer, first: int) -> str:
    """Return the sentence about the end of perfect scaling. first: the smallest batch size that counts."""
    end, within = _end(regimes, "perfect_scaling_end"), percent(regimes.facts["perfect_scaling_tau"])
    size, since = f"{end['batch_size']:,}", end["since"]
    halves = f"doubling the batch halves the steps (within {within})"
    if first < (since or end["batch_size"]):
        begins = since or end["batch_size"]
        faster = (
            f"Below batch size {begins:,} steps fall by more than the batch grows: smaller ones were tuned "
            "worse or measured differently, or it is noise."
        )
        return (
            f"{faster} From {begins:,} on, {_halving(end, halves)}"
            if since
            else (f"{faster} Up to which batch size {halves} isn't known.")
        )
    if end["censoring"] == "right" and since is not None and end["lower"] is None:
        return f"Batch sizes {since:,} to {size} are too close to tell whether {halves}."
    if end["censoring"] == "left":
        beyond = f"batch size {size}" if since else f"the smallest batch size that counts, {size}"
        return f"Already beyond {beyond}, doubling the batch doesn't halve the steps (within {within})."
    if since is None:
        return (
            f"It is unknown up to which batch size {halves}: the next one above {size} wasn't trained for long enough."
        )
    if end["batch_size"] < 2 * since:
        span = f"from batch size {since:,} to {size}, less than a doubling"
        return f"Steps fall in proportion to the batch (within {within}) {span}. {with_noise(end, 'ends')}"
    text = _halving(end, halves)
    return text[:1].upper() + text[1:]


def _halving(end: Mapping[str, Any], halves: str) -> str:
    """Return the end of a sentence: up to which batch size steps halve; what is known first where that is little."""
    size, lower, upper = (end[name] for name in ("batch_size", "lower_with_noise", "upper_with_noise"))
    if lower is not None and (upper is None or upper <= _WIDEST * lower):
        ends = ", and nothing shows that this ends there" if end["censoring"] == "right" else ""
        return f"{halves} up to batch size {size:,}{ends}. {with_noise(end, 'ends')}"
    level, these = stated("regimes"), f"these steps put the end at {size:,}"
    if lower is not None:
        return f"{halves} up to a batch size between {lower:,} and {upper:,} ({level}); {these}."
    if upper is not None:
        return f"by batch size {upper:,} doubling the batch no longer halves the steps ({level}); {these}."
    return f"the noise of steps is too large to tell up to which batch size {halves}; {these}."


def _useful(regimes: Answer, largest: int) -> str:
    """Return the sentence about the largest useful batch size. largest: the largest one that counts."""
    end, within = _end(regimes, "max_useful_batch_size"), percent(regimes.facts["max_useful_tau"])
    if end["batch_size"] is None:
        return "The batch size from which steps no longer fall is unknown."
    size = f"{end['batch_size']:,.0f}"
    if end["censoring"] == "right" and end["batch_size"] < largest:
        return f"Batch sizes {size} to {largest:,} are too close to tell whether larger ones save steps."
    if end["censoring"] == "right":
        return f"Steps still fall at the largest batch size that reaches the target, {size}: larger ones may save more."
    if end["censoring"] == "left":
        return f"No batch size saves steps over the smallest that reaches the target, {size} (within {within})."
    larger = f"larger ones, up to {largest:,}, save no more steps (within {within})"
    return f"Beyond batch size {size} {larger}. {with_noise(end, 'begins')}"


def with_noise(end: Mapping[str, Any], verb: str) -> str:
    """Return the sentence about where the true end of a regime lies. verb: of that end."""
    lower, upper = end["lower_with_noise"], end["upper_with_noise"]
    place = end_in_words(lower, upper, "between {} and {}" if lower != upper else "at {}")
    if not place:
        return f"With the noise of steps, it isn't known where that {verb}."
    return f"With the noise of steps, that {verb} {place}."


def _critical(target: AnswerRow, usable: Sequence[AnswerRow]) -> str:
    """Return the sentence about the critical batch size: what was measured near it, then what the fit extrapolates.

    usable: rows of the table with steps above 0.
    """
    lower, upper = target["critical_batch_size_lower"], target["critical_batch_size_upper"]
    value = target["critical_batch_size"]
    if value is not None:
        words, low, high = estimate_words(value, lower, upper)
        interval = f" ({_INTERVAL} {low} to {high})" if low and high else ""
        near = min(usable, key=lambda study: abs(math.log(study["batch_size"] / value)))
        best = min(usable, key=lambda study: study["steps"])
        is_within = usable[0]["batch_size"] <= value <= usable[-1]["batch_size"]
        beyond = "" if is_within else ", beyond those measured, where such intervals held in " + _HELD_OUTSIDE
        takes = f"the nearest one measured, {near['batch_size']:,}, takes {near['steps']:,} steps"
        times = f"{near['steps'] / best['steps']:.2g} times the fewest, {best['steps']:,} at {best['batch_size']:,}"
        least = "the fewest of any" if near is best else times
        return (
            f"Critical batch size {words}{interval}{beyond}: {takes}, {least}; "
            f"the fitted curve falls on to {rough(target['s_min'])}, half of its steps there."
        )
    bounds = [f"{words} {rough(end)}" for words, end in (("at least", lower), ("at most", upper)) if end is not None]
    level = stated("critical-batch-size bound")
    bounded = f" It is {' and '.join(bounds)} ({level} {plural('bound', len(bounds))})." if bounds else ""
    reason = WORDS["reasons"][target["not_identifiable"] or "too few"]
    return f"The critical batch size can't be determined: {reason.format(fewest=FEWEST_BATCH_SIZES)}.{bounded}"
