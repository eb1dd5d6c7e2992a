"""Ways out of a search that found nothing: other searches that do find something."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence

from losslake_service.web.workload_table import WorkloadTable

_MOST = 5
_MOST_WORDS = 6
_LIKENESS = 0.6


def near_searches(table: WorkloadTable, words: Sequence[str], of: Mapping[str, str | None]) -> Iterator[Sequence[str]]:
    """The words of each other search that finds something among workloads of these names, likeliest first.

    First with every unknown word replaced by one that is much like it, then with each of the words alone.
    """
    given: set[Sequence[str]] = {tuple(words)}
    for search in _other_words(table, words):
        if len(given) <= _MOST and search not in given and table.found(search, of):
            given.add(search)
            yield search


def _other_words(table: WorkloadTable, words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    words = words[:_MOST_WORDS]
    is_known = [bool(table.found([word], {})) for word in words]
    choices = [
        [word] if known else difflib.get_close_matches(word, table.words, _MOST, _LIKENESS)
        for word, known in zip(words, is_known, strict=True)
    ]
    if not all(is_known) and all(choices):
        for rank in range(max(map(len, choices))):
            yield tuple(near[min(rank, len(near) - 1)] for near in choices)
    for near in choices:
        yield from ((word,) for word in near)
