"""The conclusions of a comparison in sentences: the batch sizes at which one workload saves steps.

What a comparison concludes of each workload against the baseline, and what to know before relying on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from losslake.analysis.measured_levels import stated
from losslake.analysis.permutation_test import ERROR
from losslake.questions.comparison.contest import Contest
from losslake.questions.comparison.differences import Difference, Verdict, ended_sooner, is_unresolved
from losslake.questions.release.workload_facts import workload_labels
from losslake.questions.trials.batch_size_words import at_sizes, joined, size_ranges
from losslake.questions.trials.scaling_curve import ScalingCurve


@dataclass(frozen=True)
class Compared:
    """A workload compared with the baseline.

    name, baseline: in words. goal: what is to be reached, in words. noun: what it takes, as steps. differences: by
    ascending batch size, of those at which both have trials.
    """

    name: str
    baseline: str
    goal: str
    noun: str
    differences: tuple[Difference, ...]

    @property
    def sizes(self) -> list[int]:
        """The batch sizes compared."""
        return [each.batch_size for each in self.differences]

    def at(self, *verdicts: Verdict) -> list[int]:
        """Return the batch sizes with one of these verdicts."""
        return [each.batch_size for each in self.differences if each.verdict in verdicts]

    def only(self, reaches: bool) -> list[int]:
        """Return the batch sizes at which only the workload, or only the baseline, reaches the target."""
        one_reaches = (each for each in self.differences if each.reaches != each.baseline_reaches)
        return [each.batch_size for each in one_reaches if each.reaches is reaches]

    def is_clear(self, *verdicts: Verdict) -> bool:
        """Return True if one of these holds when all batch sizes judged share a 5% chance of error (Bonferroni)."""
        least = min((each.p_value for each in self.differences if each.verdict in verdicts), default=1.0)
        return least <= ERROR / max(len(self.at("fewer", "more", "not told")), 1)

    @property
    def largest(self) -> Difference | None:
        """The clear difference whose ratio is farthest from 1; ties go to the smaller batch size."""
        clear = [each for each in self.differences if each.verdict in ("fewer", "more") and each.ratio]
        return max(clear, key=_distance_from_one, default=None)


def in_words(compared: Compared) -> str:
    """Return the whole comparison as a paragraph."""
    if not compared.differences:
        return f"There is no batch size at which both {compared.name} and {compared.baseline} have trials to compare."
    parts = (_differences, _reach, _boundaries, _largest, _by_chance)
    return " ".join(sentence for part in parts for sentence in part(compared))


def _differences(compared: Compared) -> Iterator[str]:
    """Yield the batch sizes at which either takes fewer steps, and those at which that is unknown."""
    fewer, more = compared.at("fewer"), compared.at("more")
    undecided, too_few = compared.at("not told"), compared.at("too few trials")
    first, second = ("fewer", "more") if fewer else ("more", "fewer")
    clauses = []
    if fewer or more:
        sizes = fewer or more
        clauses.append(
            f"{compared.name} takes {first} {compared.noun} to {compared.goal} than {compared.baseline} at "
            f"{_with_ratios(compared, sizes)}"
        )
        if fewer and more:
            clauses.append(f"{second} at {_with_ratios(compared, more)}")
        if undecided:
            clauses.append(f"no difference can be detected at {at_sizes(undecided, compared.sizes)}")
    elif undecided:
        clauses.append(
            f"No difference in {compared.noun} to {compared.goal} can be detected between {compared.name} "
            f"and {compared.baseline} at {at_sizes(undecided, compared.sizes)}"
        )
    if too_few:
        there = f"at {at_sizes(too_few, compared.sizes)}"
        whose = "" if clauses else f" of {compared.name} and {compared.baseline}"
        clauses.append(f"{there} there are too few trials{whose} with different settings to tell")
    if alone := compared.at("one submitter"):
        there = f"at {at_sizes(alone, compared.sizes)}"
        who = "either" if clauses else f"{compared.name} or {compared.baseline}"
        clauses.append(f"{there} all trials of {who} are of one submitter, so no difference is judged")
    if clauses:
        text = "; ".join(clauses)
        yield f"{text[0].upper()}{text[1:]}." if text.startswith("at ") else f"{text}."


def _with_ratios(compared: Compared, sizes: Sequence[int]) -> str:
    """Return batch sizes in words, with the least and the largest of their ratios."""
    ratios = sorted(each.ratio for each in compared.differences if each.batch_size in sizes and each.ratio is not None)
    where = at_sizes(sizes, compared.sizes)
    if not ratios:
        return where
    words = list(dict.fromkeys(map(_number, (ratios[0], ratios[-1]))))
    partly = "" if len(ratios) == len(sizes) else ", where both reach it"
    return f"{where} ({' to '.join(words)} times as many{partly})"


def _reach(compared: Compared) -> Iterator[str]:
    """Yield which of the two reaches the target, and where."""
    neither = compared.at("neither reaches")
    sooner = [each.batch_size for each in compared.differences if each.ended_sooner]
    if neither == compared.sizes:
        where = at_sizes(neither, compared.sizes)
        yield f"Neither {compared.name} nor {compared.baseline} reaches {compared.goal} at {where}."
        return
    if all(each.reaches and each.baseline_reaches for each in compared.differences):
        where = " at every batch size compared" if len(compared.sizes) > 1 else ""
        yield f"Both reach the target{where}."
        return
    for reaches, name, other in ((True, compared.name, compared.baseline), (False, compared.baseline, compared.name)):
        only = compared.only(reaches)
        if only:
            stopped = [size for size in only if size in sooner]
            lucky = [size for size in only if size not in sooner and size in compared.at("not told")]
            text = f"Only {name} reaches the target at {at_sizes(only, compared.sizes)}"
            if stopped:
                text += f"; {other} may only have been stopped sooner at {size_ranges(stopped, compared.sizes)}"
            if lucky:
                text += f"; so few of its trials do at {size_ranges(lucky, compared.sizes)} that it may be chance"
            yield f"{text}."
    if neither:
        yield f"Neither reaches it at {at_sizes(neither, compared.sizes)}."


def _boundaries(compared: Compared) -> Iterator[str]:
    """Yield where the saving of either begins and ends, and where the order turns; nothing where it may be chance."""
    fewer, more = compared.at("fewer"), compared.at("more")
    if len(compared.sizes) > 1 and compared.is_clear("fewer", "more"):
        yield _boundary(compared, *((compared.name, fewer) if fewer else (compared.baseline, more)))
    turns = bool(fewer and more) and (max(fewer) < min(more) or max(more) < min(fewer))
    if turns and compared.is_clear("fewer") and compared.is_clear("more"):
        small, large = (
            (compared.name, compared.baseline) if max(fewer) < min(more) else (compared.baseline, compared.name)
        )
        below, above = sorted([fewer, more])
        yield (
            f"The order turns between batch sizes {below[-1]} and {above[0]}: {small} is ahead at "
            f"{size_ranges(below, compared.sizes)}, {large} at {size_ranges(above, compared.sizes)}."
        )


def _boundary(compared: Compared, name: str, ahead: Sequence[int]) -> str:
    """Return the range of batch sizes with a saving, judged by those that can be."""
    judged = compared.at("fewer", "more", "not told")
    smaller = [size for size in judged if size < ahead[0]]
    larger = [size for size in judged if size > ahead[-1]]
    gaps = [size for size in judged if ahead[0] < size < ahead[-1] and size not in ahead]
    if gaps:
        return (
            f"So there is no one batch size at which the saving of {name} begins or ends: from {ahead[0]} to "
            f"{ahead[-1]} it is detected, but not at {size_ranges(gaps, compared.sizes)}"
            f"{_unbroken(ahead, gaps, judged)}."
        )
    sides = (("smaller", smaller), ("larger", larger))
    without = joined([f"{word} ones ({size_ranges(sizes, compared.sizes)})" for word, sizes in sides if sizes])
    if not without and len(judged) == 1:
        return f"So {name} saves {compared.noun} at batch size {judged[0]}, the only one that can be judged."
    if not without:
        every = "every batch size compared" if judged == compared.sizes else "every batch size that can be judged"
        return f"So {name} saves {compared.noun} at {every}: where that begins or ends lies outside them."
    is_first, is_last = ahead[0] == compared.sizes[0], ahead[-1] == compared.sizes[-1]
    if is_first or is_last:
        span = f"up to batch size {ahead[-1]}" if is_first else f"from batch size {ahead[0]} on"
    elif len(ahead) > 1:
        span = f"from batch size {ahead[0]} to {ahead[-1]}"
    else:
        span = f"{'only ' if smaller and larger else ''}at batch size {ahead[0]}"
    return f"So {name} saves {compared.noun} {span}; no saving can be detected at {without}."


def _unbroken(ahead: Sequence[int], gaps: Sequence[int], judged: Sequence[int]) -> str:
    """Return the end of the range that has no gaps, if it has two batch sizes or more."""
    head, tail = [size for size in ahead if size < gaps[0]], [size for size in ahead if size > gaps[-1]]
    if len(tail) > 1 and tail[-1] == judged[-1]:
        return f"; from {tail[0]} on it is detected everywhere"
    return f"; up to {head[-1]} it is detected everywhere" if len(head) > 1 and head[0] == judged[0] else ""


def _largest(compared: Compared) -> Iterator[str]:
    largest = compared.largest
    if largest is not None and largest.ratio and len(compared.at("fewer", "more")) > 1:
        yield (
            f"The difference is largest at batch size {largest.batch_size}, where {compared.name} takes "
            f"{_number(largest.ratio)} times as many {compared.noun}."
        )


def _by_chance(compared: Compared) -> Iterator[str]:
    if compared.at("fewer", "more") and not compared.is_clear("fewer", "more"):
        n = len(compared.at("fewer", "more", "not told"))
        chance = stated("compare differs")
        yield f"With {n} batch sizes, this may be chance: each has a {chance} chance of error."


def _distance_from_one(each: Difference) -> float:
    ratio = each.ratio or 1.0
    return max(ratio, 1 / ratio)


def _number(ratio: float) -> str:
    """Return a ratio with three digits, or as many as distinguish it from 1, and without an exponent."""
    if ratio >= 999.5:  # rounded to 1,000
        return f"{ratio:,.0f}"
    texts = (
        np.format_float_positional(ratio, digits, unique=False, fractional=False, trim="-") for digits in (3, 5, 17)
    )
    return next((text for text in texts if float(text) != 1), "1")


def conclusions(
    contest: Contest,
    by_competitor: Sequence[Sequence[Difference | None]],
    base: int,
    goal: str,
    noun: str,
    first: Sequence[str] = (),
) -> Iterator[dict[str, Any]]:
    """Yield the conclusion on each competitor but the baseline.

    by_competitor: its differences, by column. first: what each has to say first.
    """
    labels = workload_labels(contest.competitors).short
    for name, each in zip(contest.competitors, by_competitor, strict=True):
        if name != contest.competitors[base]:
            of_both = tuple(difference for difference in each if difference is not None)
            compared = Compared(labels[name], labels[contest.competitors[base]], goal, noun, of_both)
            yield {
                "workload": name,
                **{f"{verdict.replace(' ', '_')}_at": compared.at(verdict) for verdict in get_args(Verdict)},
                "only_workload_reaches_at": compared.only(True),
                "only_baseline_reaches_at": compared.only(False),
                "largest_at": compared.largest and compared.largest.batch_size,
                "is_clear": compared.is_clear("fewer", "more"),
                "in_words": " ".join([*(f"{text[:1].upper()}{text[1:]}." for text in first), in_words(compared)]),
            }


NEARLY_ALL = 0.9


def comparison_warnings(contest: Contest, curves: Sequence[ScalingCurve], base: int, noun: str) -> Iterator[str]:
    """Yield where a comparison by batch size is less fair or less certain than it looks.

    curves: by competitor. base: the competitor that the others are compared with. noun: what is counted.
    """
    if len(contest.competitors) == 1:
        yield f"there is nothing to compare {contest.competitors[0]} with: name two workloads or more"
    if np.isposinf(contest.medians).any() and not np.isfinite(contest.medians).any():
        yield "no trial of any workload reached the target: there is nothing to compare"
    yield from _unequal_lengths(contest, curves, noun)
    yield from _coarse(contest, curves, base)
    yield from _one_draw(contest)


def _unequal_lengths(contest: Contest, curves: Sequence[ScalingCurve], noun: str) -> Iterator[str]:
    """Yield the workloads that never reached the target but were trained for less than another needed."""
    for column, (_, batch_size) in enumerate(contest.places):
        slowest = np.max(contest.medians[:, column], initial=-1, where=np.isfinite(contest.medians[:, column]))
        for index, name in enumerate(contest.competitors):
            ran = ended_sooner(contest, curves[index], index, column, slowest)
            if ran is not None:
                yield (
                    f"{name} did not reach the target at batch size {batch_size}, but its trials "
                    f"end after {ran:,.10g} {noun} and another's needed {slowest:,.10g}: "
                    "it may only have been stopped sooner"
                )


def _coarse(contest: Contest, curves: Sequence[ScalingCurve], base: int) -> Iterator[str]:
    """Yield the batch sizes at which workloads differ by less than the distance between evaluations."""
    for index, name in enumerate(contest.competitors):
        sizes = [
            str(batch_size)
            for column, (_, batch_size) in enumerate(contest.places if index != base else ())
            if is_unresolved(contest, (curves[index], curves[base]), (index, base), column)
        ]
        if sizes:
            yield (
                f"{name} and {contest.competitors[base]} differ by no more than the distance between two evaluations "
                f"at batch size {', '.join(sizes)}: their order there is not resolved"
            )


def _one_draw(contest: Contest) -> Iterator[str]:
    sizes = [
        str(batch_size)
        for column, (_, batch_size) in enumerate(contest.places)
        if all(
            entry is None or NEARLY_ALL * len(entry.steps) <= contest.budgets[column]
            for entry in (of_competitor[column] for of_competitor in contest.entries)
        )
    ]
    if sizes:
        yield (
            f"at batch size {', '.join(sizes)} the budget is all trials that there are, or nearly so: beats_baseline "
            "says who was ahead, and beats_baseline_at_half how sure that is"
        )
