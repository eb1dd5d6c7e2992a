"""What a comparison says, in sentences: at which batch sizes one workload saves steps, where that begins and ends.

What a comparison concludes of each workload against the baseline, and what to know before relying on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from losslake.analysis.equal_budget import CLEAR
from losslake.questions.contest import Contest, Difference, Verdict, ended_sooner, is_unresolved
from losslake.questions.scaling_curve import ScalingCurve
from losslake.questions.wording import at_sizes, joined, size_ranges
from losslake.questions.workload_facts import workload_labels
from losslake_schema.reached import Floats


@dataclass(frozen=True)
class Compared:
    """A workload against the baseline.

    name, baseline: in words. goal: what takes steps, in words. differences: by ascending batch size, of those at which
    both have trials.
    """

    name: str
    baseline: str
    goal: str
    differences: tuple[Difference, ...]

    @property
    def sizes(self) -> list[int]:
        """All that are compared."""
        return [each.batch_size for each in self.differences]

    def at(self, *verdicts: Verdict) -> list[int]:
        """The batch sizes of which one of these is said."""
        return [each.batch_size for each in self.differences if each.verdict in verdicts]

    def only(self, reaches: bool) -> list[int]:
        """The batch sizes at which only the workload reaches the target, or only the baseline does."""
        one_reaches = (each for each in self.differences if each.reaches != each.baseline_reaches)
        return [each.batch_size for each in one_reaches if each.reaches is reaches]

    def is_clear(self, *verdicts: Verdict) -> bool:
        """Whether one of these would be told if all batch sizes shared the chance of an error (Bonferroni)."""
        leads = [each.leads for each in self.differences if each.verdict in verdicts]
        return bool(leads) and max(leads) >= 1 - (1 - CLEAR) / len(self.differences)

    @property
    def largest(self) -> Difference | None:
        """Of the differences that are told and have a ratio, that farthest from 1; ties to the smaller batch size."""
        told = [each for each in self.differences if each.verdict in ("fewer", "more") and each.ratio]
        return max(told, key=_distance_from_one, default=None)


def in_words(found: Compared) -> str:
    """All there is to say, in a paragraph."""
    if not found.differences:
        return f"There is no batch size at which both {found.name} and {found.baseline} have trials to compare."
    sentences = [*_told(found), *_reach(found), *_boundaries(found), *_largest(found), *_by_chance(found)]
    return " ".join(sentences)


def _told(found: Compared) -> Iterator[str]:
    """Where one takes fewer steps, where the other, and where that isn't known."""
    fewer, more = found.at("fewer"), found.at("more")
    not_told, too_few = found.at("not told"), found.at("too few trials")
    first, second = ("fewer", "more") if fewer else ("more", "fewer")
    clauses = []
    if fewer or more:
        sizes = fewer or more
        clauses.append(
            f"{found.name} takes {first} steps to {found.goal} than {found.baseline} at {_with_ratios(found, sizes)}"
        )
        if fewer and more:
            clauses.append(f"{second} at {_with_ratios(found, more)}")
        if not_told:
            clauses.append(f"no difference can be told at {at_sizes(not_told, found.sizes)}")
    elif not_told:
        clauses.append(
            f"No difference in steps to {found.goal} can be told between {found.name} and {found.baseline} at "
            f"{at_sizes(not_told, found.sizes)}"
        )
    if too_few:
        there = f"at {at_sizes(too_few, found.sizes)}"
        whose = "" if clauses else f" of {found.name} and {found.baseline}"
        clauses.append(f"{there} there are too few trials{whose} to tell")
    if clauses:
        text = "; ".join(clauses)
        yield f"{text[0].upper()}{text[1:]}." if text.startswith("at ") else f"{text}."


def _with_ratios(found: Compared, sizes: Sequence[int]) -> str:
    """Batch sizes with the least and the largest of their ratios."""
    ratios = sorted(each.ratio for each in found.differences if each.batch_size in sizes and each.ratio is not None)
    said = at_sizes(sizes, found.sizes)
    if not ratios:
        return said
    words = list(dict.fromkeys(map(_number, (ratios[0], ratios[-1]))))
    partly = "" if len(ratios) == len(sizes) else ", where both reach it"
    return f"{said} ({' to '.join(words)} times as many{partly})"


def _reach(found: Compared) -> Iterator[str]:
    """Who reaches the target where."""
    neither = found.at("neither reaches")
    sooner = [each.batch_size for each in found.differences if each.ended_sooner]
    if neither == found.sizes:
        yield f"Neither {found.name} nor {found.baseline} reaches {found.goal} at {at_sizes(neither, found.sizes)}."
        return
    if all(each.reaches and each.baseline_reaches for each in found.differences):
        where = " at every batch size compared" if len(found.sizes) > 1 else ""
        yield f"Both reach the target{where}."
        return
    for reaches, name, other in ((True, found.name, found.baseline), (False, found.baseline, found.name)):
        only = found.only(reaches)
        if only:
            stopped = [size for size in only if size in sooner]
            lucky = [size for size in only if size not in sooner and size in found.at("not told")]
            text = f"Only {name} reaches the target at {at_sizes(only, found.sizes)}"
            if stopped:
                text += f"; {other} may only have been stopped sooner at {size_ranges(stopped, found.sizes)}"
            if lucky:
                text += f"; so few of its trials do at {size_ranges(lucky, found.sizes)} that it may be chance"
            yield f"{text}."
    if neither:
        yield f"Neither reaches it at {at_sizes(neither, found.sizes)}."


def _boundaries(found: Compared) -> Iterator[str]:
    """Where the saving of either begins and ends, and where the order turns."""
    fewer, more = found.at("fewer"), found.at("more")
    if len(found.sizes) > 1 and (fewer or more):
        yield _boundary(found, *((found.name, fewer) if fewer else (found.baseline, more)))
    turns = bool(fewer and more) and (max(fewer) < min(more) or max(more) < min(fewer))
    if turns and found.is_clear("fewer") and found.is_clear("more"):
        small, large = (found.name, found.baseline) if max(fewer) < min(more) else (found.baseline, found.name)
        below, above = sorted([fewer, more])
        yield (
            f"The order turns between batch sizes {below[-1]} and {above[0]}: {small} is ahead at "
            f"{size_ranges(below, found.sizes)}, {large} at {size_ranges(above, found.sizes)}."
        )


def _boundary(found: Compared, name: str, ahead: Sequence[int]) -> str:
    """From which batch size to which the saving reaches, as far as batch sizes that can be judged show."""
    judged = found.at("fewer", "more", "not told")
    smaller = [size for size in judged if size < ahead[0]]
    larger = [size for size in judged if size > ahead[-1]]
    gaps = [size for size in judged if ahead[0] < size < ahead[-1] and size not in ahead]
    if gaps:
        return (
            f"So there is no one batch size at which the saving of {name} begins or ends: from {ahead[0]} to "
            f"{ahead[-1]} it is told, but not at {size_ranges(gaps, found.sizes)}{_unbroken(ahead, gaps, judged)}."
        )
    sides = (("smaller", smaller), ("larger", larger))
    without = joined([f"no {word} one ({size_ranges(sizes, found.sizes)})" for word, sizes in sides if sizes])
    if not without:
        every = "every batch size compared" if judged == found.sizes else "every batch size that can be judged"
        return f"So {name} saves steps at {every}: where that begins or ends is outside of them."
    is_first, is_last = ahead[0] == found.sizes[0], ahead[-1] == found.sizes[-1]
    if is_first or is_last:
        span = f"up to batch size {ahead[-1]}" if is_first else f"from batch size {ahead[0]} on"
    elif len(ahead) > 1:
        span = f"from batch size {ahead[0]} to {ahead[-1]}"
    else:
        span = f"{'only ' if smaller and larger else ''}at batch size {ahead[0]}"
    return f"So {name} saves steps {span}; at {without} can a saving be told."


def _unbroken(ahead: Sequence[int], gaps: Sequence[int], judged: Sequence[int]) -> str:
    """From where on, or up to where, there are no gaps, if that is true of two batch sizes or more."""
    head, tail = [size for size in ahead if size < gaps[0]], [size for size in ahead if size > gaps[-1]]
    if len(tail) > 1 and tail[-1] == judged[-1]:
        return f"; from {tail[0]} on it is everywhere"
    return f"; up to {head[-1]} it is everywhere" if len(head) > 1 and head[0] == judged[0] else ""


def _largest(found: Compared) -> Iterator[str]:
    largest = found.largest
    if largest is not None and largest.ratio and len(found.at("fewer", "more")) > 1:
        yield (
            f"The difference is largest at batch size {largest.batch_size}, where {found.name} takes "
            f"{_number(largest.ratio)} times as many steps."
        )


def _by_chance(found: Compared) -> Iterator[str]:
    if found.at("fewer", "more") and not found.is_clear("fewer", "more"):
        n = len(found.sizes)
        yield f"Of {n} batch sizes, so much may differ by chance." if n > 1 else "So much may be chance."


def _distance_from_one(each: Difference) -> float:
    ratio = each.ratio or 1.0
    return max(ratio, 1 / ratio)


def _number(ratio: float) -> str:
    """Three digits, or as many as tell it from 1."""
    if ratio >= 1000:
        return f"{ratio:,.0f}"
    texts = [f"{ratio:.{digits}g}" for digits in (3, 5, 17)]
    return next((text for text in texts if float(text) != 1), "1")


def conclusions(
    found: Contest, by_competitor: Sequence[Sequence[Difference | None]], base: int, goal: str
) -> Iterator[dict[str, Any]]:
    """Of each competitor but the baseline, whose place is base. by_competitor: its differences, by column."""
    labels = workload_labels(found.competitors).own
    for index, name in enumerate(found.competitors):
        if index != base:
            known = tuple(each for each in by_competitor[index] if each is not None)
            yield _conclusion(name, Compared(labels[name], labels[found.competitors[base]], goal, known))


def _conclusion(workload: str, compared: Compared) -> dict[str, Any]:
    largest = compared.largest
    return {
        "workload": workload,
        "fewer_at": compared.at("fewer"),
        "more_at": compared.at("more"),
        "not_told_at": compared.at("not told"),
        "too_few_trials_at": compared.at("too few trials"),
        "neither_reaches_at": compared.at("neither reaches"),
        "only_workload_reaches_at": compared.only(True),
        "only_baseline_reaches_at": compared.only(False),
        "largest_at": None if largest is None else largest.batch_size,
        "is_clear": compared.is_clear("fewer", "more"),
        "in_words": in_words(compared),
    }


NEARLY_ALL = 0.9


def comparison_warnings(found: Contest, curves: Sequence[ScalingCurve], base: int) -> Iterator[str]:
    """In words, where a comparison of workloads by batch size is less fair or less sure than it looks.

    curves: by competitor. base: the competitor that the others are compared with.
    """
    if len(found.competitors) == 1:
        yield f"there is nothing to compare {found.competitors[0]} with: name two workloads or more"
    if np.isposinf(found.medians).any() and not np.isfinite(found.medians).any():
        yield "no trial of any workload reached the target: there is nothing to compare"
    yield from _unequal_lengths(found, curves)
    yield from _coarse(found, curves, base)
    yield from _one_draw(found)


def _unequal_lengths(found: Contest, curves: Sequence[ScalingCurve]) -> Iterator[str]:
    """Where a workload is said never to reach the target, but was not trained as long as another took."""
    for column, (_, batch_size) in enumerate(found.places):
        slowest = np.max(found.medians[:, column], initial=-1, where=np.isfinite(found.medians[:, column]))
        for index, name in enumerate(found.competitors):
            ran = ended_sooner(found, curves[index], index, column, slowest)
            if ran is not None:
                yield (
                    f"{name} did not reach the target at batch size {batch_size}, but its trials "
                    f"end at step {ran:,} and another's needed {int(slowest):,}: it may only have been stopped sooner"
                )


def _coarse(found: Contest, curves: Sequence[ScalingCurve], base: int) -> Iterator[str]:
    """Where two workloads differ by less than the distance of the evaluations at which they reached the target."""
    for index, name in enumerate(found.competitors):
        sizes = [
            str(batch_size)
            for column, (_, batch_size) in enumerate(found.places if index != base else ())
            if is_unresolved(found, (curves[index], curves[base]), (index, base), column)
        ]
        if sizes:
            yield (
                f"{name} and {found.competitors[base]} differ by no more than the distance between two evaluations at "
                f"batch size {', '.join(sizes)}: their order there is not resolved"
            )


def _one_draw(found: Contest) -> Iterator[str]:
    sizes = [
        str(batch_size)
        for column, (_, batch_size) in enumerate(found.places)
        if all(own is None or NEARLY_ALL * len(own) <= found.budgets[column] for own in _of_column(found, column))
    ]
    if sizes:
        yield (
            f"at batch size {', '.join(sizes)} the budget is all trials that there are, or nearly so: beats_baseline "
            "says who was ahead, and beats_baseline_at_half how sure that is"
        )


def _of_column(found: Contest, column: int) -> list[Floats | None]:
    return [row[column] for row in found.steps]
