"""Comparisons that a search asks for: `adam vs sgd` of two workloads, `h100 vs a100` of MLPerf results."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from losslake.questions.lists.lists import MOST_LETTERS
from losslake.questions.release.known_names import labels_of
from losslake.questions.release.view import ReleaseView
from losslake_schema.names import Workload
from losslake_schema.quantities import counted
from losslake_service.web.search.matching import IN_A_NAME, Entry, Query, query_of
from losslake_service.web.search.release_entries import RESULTS, WorkloadEntry, grouped_entries, workload_entries

_AGAINST = re.compile(r"\s(?:vs\.?|versus|against|compared (?:to|with))\s")
_COMPARE = re.compile(r"^\s*compare\s(.*?)\s(?:and|with|to|or)\s(.*)$")
_MOST_COMPARISONS = 3
# Above all else, since nothing else is a comparison.
_COMPARISON = 5.0
Pair = tuple[WorkloadEntry, WorkloadEntry]


def comparisons(view: ReleaseView, text: str) -> Iterator[tuple[float, Entry]]:
    """Yield the comparisons that a search asks for, with their scores, that of the most trials first."""
    sides = _sides(text.casefold()[:MOST_LETTERS])
    if sides is None:
        return
    first, second = map(query_of, sides)
    one, other = (_result(view, side) for side in (first, second))
    if one is not None and other is not None and one.kind == other.kind:
        yield _COMPARISON, _both(one, other)
    # The best of the pairs of each problem.
    best: dict[tuple[str, ...], Pair] = {}
    for pair in sorted(_pairs(view, first, second), key=_worth, reverse=True):
        best.setdefault((pair[0].workload.dataset, pair[0].workload.model, pair[1].workload.model), pair)
    for n, pair in enumerate(islice(best.values(), _MOST_COMPARISONS)):
        yield _COMPARISON - n / 10, _comparison(pair)


def _sides(text: str) -> tuple[str, str] | None:
    match = _COMPARE.match(text)
    parts = (match[1], match[2]) if match else _AGAINST.split(text, 1)
    sides = [part.strip() for part in parts]
    return (sides[0], sides[1]) if len(sides) == 2 and all(sides) else None


def _result(view: ReleaseView, query: Query) -> Entry | None:
    """Return the organisation, accelerator, benchmark or round of that name."""
    named = [each for each in grouped_entries(view) if each.path == RESULTS and query.phrase in each.phrases]
    return max(named, key=lambda each: each.score(query), default=None)


def _both(first: Entry, second: Entry) -> Entry:
    title = f"{first.title} and {second.title.partition(': ')[2]}"
    return replace(first, kind="Comparison", title=title, query=(*first.query, *second.query), note=first.kind)


def _pairs(view: ReleaseView, first: Query, second: Query) -> Iterator[Pair]:
    """Yield pairs of workloads, one of each side, of one data set that differ in the model or the optimizer only."""
    by_problem: dict[tuple[str, ...], list[WorkloadEntry]] = defaultdict(list)
    for each in _meant(view, second):
        for key in _problems(each.workload):
            by_problem[key].append(each)
    for one in _meant(view, first):
        for key in _problems(one.workload):
            yield from ((one, other) for other in by_problem[key] if _is_comparable(view, one.workload, other.workload))


def _problems(workload: Workload) -> tuple[tuple[str, ...], ...]:
    return ("model", workload.dataset, workload.model), ("optimizer", workload.dataset, workload.optimizer)


def _is_comparable(view: ReleaseView, one: Workload, other: Workload) -> bool:
    differ = (one.model != other.model) + (one.optimizer != other.optimizer)
    metrics = set(view.workloads[one].measured).intersection(view.workloads[other].measured)
    return differ == 1 and any(view.metrics[metric].direction for metric in metrics)


def _worth(pair: Pair) -> tuple[bool, int]:
    """Return the sort key of a pair: if they have a batch size in common, and the trials of the one with fewer."""
    is_at_one_size = not pair[0].sizes.keys().isdisjoint(pair[1].sizes)
    return is_at_one_size, min(each.entry.n_trials for each in pair)


def _meant(view: ReleaseView, query: Query) -> Sequence[WorkloadEntry]:
    """Return the workloads that a side means: Adam, not AdamW, for `adam`."""
    by_quality: dict[tuple[bool, float], list[WorkloadEntry]] = defaultdict(list)
    for each in workload_entries(view).values():
        strengths = [each.entry.strength(token) for token in query.tokens]
        if strengths and min(strengths) >= IN_A_NAME:
            by_quality[query.phrase in each.entry.phrases, sum(strengths)].append(each)
    return by_quality[max(by_quality)] if by_quality else ()


def _comparison(pair: Pair) -> Entry:
    workloads = [each.workload for each in pair]
    common, labels = labels_of(workloads)
    title = f"{labels[0]} and {labels[1]}" + (f": {common}" if common else "")
    n_trials = min(each.entry.n_trials for each in pair)
    query = tuple(("workload", str(each)) for each in workloads)
    note = f"at least {counted(n_trials, 'trial')} of each"
    return Entry("Comparison", f"Compare {title}", "/compare", note, query, n_trials=n_trials)
