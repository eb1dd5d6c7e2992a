"""What a comparison concludes of each workload against the baseline, by batch size and in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from losslake.questions.analysis.comparison_words import Compared, in_words
from losslake.questions.analysis.contest import Contest
from losslake.questions.analysis.differences import Difference
from losslake.questions.workload_labels import workload_labels


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
