"""Workloads by the words that people type.

Words match within names, display names, aliases, metrics, and the rounds, organisations and systems of trials. Marks
within a word don't count: `resnet50` matches ResNet-50. A number is also one of the batch sizes: `lamb 4096`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from losslake.questions.release.errors import MOST_NEAR_MATCHES, near_names
from losslake.questions.release.known_names import other_names
from losslake_schema.names import Workload

_MOST_WORDS = 6
_MARKS = re.compile(r"[^\w\s/]|_")
_PARTS = re.compile(r"[\s/*]+")
_MOST_DIGITS = 15
_NUMBER = rf"(\d{{1,3}}(?:,\d{{3}}){{1,4}}|\d{{1,{_MOST_DIGITS}}}k?)"
_OF_BATCH_SIZE = "batch_size="
# `batch size 32,768`, `batch_size=32k`
_BATCH_SIZE = re.compile(rf"\b(?:batch[ _-]?sizes?|bs)[ :=]{{1,3}}{_NUMBER}(?!\S)")
_SIZE = re.compile(_NUMBER)
# Left out of a search that has other words.
_LITTLE_WORDS = frozenset(
    {"a", "an", "and", "at", "by", "do", "does", "for", "from", "how", "in", "is", "of", "on", "or", "the", "to"}
    | {"versus", "vs", "vs.", "with"}
)


class WorkloadWords:
    """The words of some workloads."""

    def __init__(
        self, texts: Mapping[Workload, Iterable[str]], batch_sizes: Mapping[Workload, Collection[int]] | None = None
    ) -> None:
        """Take what words are to match within, by workload, beside its names, display names and aliases."""
        self._batch_sizes = batch_sizes or {}
        self._texts = {
            workload: _searchable([str(workload), *other_names(workload), *more]) for workload, more in texts.items()
        }

    @cached_property
    def all(self) -> Sequence[str]:
        """The words that are proposed: texts between spaces and slashes, and their parts."""
        return sorted({word for text in self._texts.values() for word in _split(text)})

    def matches(self, words: Iterable[str]) -> list[Workload]:
        """Return the workloads that have every word in their text or as a batch size, in order. words: casefolded."""
        wanted = [(word, _without_marks(word) or word, batch_sizes_of(word)) for word in words]
        return sorted(
            workload
            for workload, text in self._texts.items()
            if all(
                word in text or plain in text or not sizes.isdisjoint(self._batch_sizes.get(workload, ()))
                for word, plain, sizes in wanted
            )
        )

    def near_searches(self, words: Sequence[str]) -> Iterator[Sequence[str]]:
        """Yield the words of similar searches that match something, each once, most likely first."""
        seen = {tuple(words)}
        for search in self._similar(words[:_MOST_WORDS]):
            if search not in seen and self.matches(search):
                seen.add(search)
                yield search

    def _similar(self, words: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Yield the words with every unknown one replaced by a similar one, then each word alone."""
        is_known = [bool(self.matches([word])) for word in words]
        choices = [
            [word] if known else difflib.get_close_matches(word, self.all, MOST_NEAR_MATCHES)
            for word, known in zip(words, is_known, strict=True)
        ]
        if not all(is_known) and all(choices):
            for rank in range(max(map(len, choices))):
                yield tuple(near[min(rank, len(near) - 1)] for near in choices)
        for near in choices:
            yield from ((word,) for word in near)


def words_of(text: str) -> list[str]:
    """Return the distinct words of a search, casefolded, without articles and prepositions among others.

    A batch size is one word: `batch size 32,768` is batch_size=32768.
    """
    plain = _BATCH_SIZE.sub(lambda match: f"{_OF_BATCH_SIZE}{match[1].replace(',', '')}", text.casefold())
    words = list(dict.fromkeys(plain.split()))
    return [word for word in words if word not in _LITTLE_WORDS] or words


def batch_sizes_of(word: str) -> frozenset[int]:
    """Return the batch sizes that a word may name: 4096, batch_size=4096, 4,096; 4k is 4,096 or 4,000."""
    match = _SIZE.fullmatch(word.removeprefix(_OF_BATCH_SIZE))
    if match is None:
        return frozenset()
    digits = match[1].replace(",", "")
    if digits.endswith("k"):
        return frozenset((int(digits[:-1]) * 1000, int(digits[:-1]) * 1024))
    return frozenset((int(digits),))


def near_workloads(name: str, workloads: Collection[Workload]) -> list[str]:
    """Return the workloads most like `name`, likeliest first: those whose names have all of its parts, if any have.

    Else those whose names are similar; or all, if there are few.
    """
    parts, names = parts_of(name), list(map(str, workloads))
    matching = WorkloadWords(dict.fromkeys(workloads, ())).matches(parts) if parts else []
    if matching:
        return near_names(name, map(str, matching))
    few = names if len(names) <= MOST_NEAR_MATCHES else []
    return difflib.get_close_matches(name, names, MOST_NEAR_MATCHES) or few


def parts_of(name: str) -> list[str]:
    """Return the words of a path or of a search."""
    return [part for part in _PARTS.split(name.casefold()) if part]


def _searchable(texts: Iterable[str]) -> str:
    folded = [text.casefold() for text in texts]
    return "\n".join(dict.fromkeys([*folded, *map(_without_marks, folded)]))


def _without_marks(text: str) -> str:
    return _MARKS.sub("", text)


def _split(text: str) -> Iterator[str]:
    for name in text.replace("/", " ").split():
        yield name
        yield from (part for part in name.split("_") if len(part) > 1)
