"""Entries that words match: names before details before text, whole words before their beginnings.

Case, marks and the plural s don't count: `resnet50`, `ResNet-50` and `resnet_50` are the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from losslake.questions.lists.lists import MOST_LETTERS
from losslake.questions.release.workload_words import words_of

# Further words and letters aren't read.
_MOST_WORDS = 12
_WORD = re.compile(r"[^\W_]+(?:\.[^\W_]+)*")
_FEWEST_LETTERS_INSIDE = 3
# The strength of a word that begins a word of a name.
IN_A_NAME = 0.8
# The strengths of a word in names, details and body: as a whole word, as the beginning of one, within one.
_WHOLE, _BEGINS, _INSIDE = (1.0, 0.6, 0.2), (IN_A_NAME, 0.5, 0.15), (0.4, 0.3, 0.0)
_WHOLE_NAME, _COVERED, _PER_TENFOLD_TRIALS = 1.0, 0.3, 0.08


@dataclass(frozen=True)
class Query:
    """A search. words: as those of workloads; tokens: all of them, folded; phrase: tokens as one text."""

    words: Sequence[str]

    @cached_property
    def tokens(self) -> Sequence[str]:
        """The folded words."""
        return [token for word in self.words for token in folded(word)]

    @cached_property
    def phrase(self) -> str:
        """The folded words as one text."""
        return " ".join(self.tokens)


@dataclass(frozen=True)
class Entry:
    """Something that can be found.

    kind: in a word, for readers. note: what it is, shortly. names: all by which it is called, the title among them.
    details, body: texts in which words are found that are less, and least, about it. n_trials: of its data.
    weight: added to its score. group: of which a list shows few.
    """

    kind: str
    title: str
    path: str
    note: str = ""
    query: tuple[tuple[str, object], ...] = ()
    anchor: str = ""
    names: Sequence[str] = ()
    details: Sequence[str] = ()
    body: str = ""
    n_trials: int = 0
    weight: float = 0.0
    group: str = ""

    @cached_property
    def phrases(self) -> frozenset[str]:
        """Its names, folded."""
        return frozenset(" ".join(_without_little_words(name)) for name in (self.title, *self.names))

    @cached_property
    def texts(self) -> tuple[str, str, str]:
        """Names, details and body, folded, with a space around each word."""
        return _text((self.title, *self.names)), _text(self.details), _text((self.body,))

    def strength(self, token: str) -> float:
        """Return how well it matches a folded word, at most 1; 0 if not at all."""
        inside = 0.0
        for text, is_whole, begins, is_inside in zip(self.texts, _WHOLE, _BEGINS, _INSIDE, strict=True):
            if token not in text:
                continue
            if f" {token} " in text:
                return max(is_whole, inside)
            if f" {token}" in text:
                return max(begins, inside)
            inside = max(inside, is_inside)
        return inside if len(token) >= _FEWEST_LETTERS_INSIDE else 0.0

    def score(self, query: Query) -> float:
        """Return how well it matches all words of a search; 0 if any word doesn't match."""
        strengths = [self.strength(token) for token in query.tokens]
        return self.total(strengths, query) if all(strengths) else 0.0

    def total(self, strengths: Sequence[float], query: Query) -> float:
        """Return the score of strengths by word, all above 0."""
        if not strengths:
            return 0.0
        title = folded(self.title)
        covered = sum(word in query.tokens for word in title) / max(len(title), 1)
        bonus = _WHOLE_NAME if query.phrase in self.phrases else _COVERED * covered
        by_trials = _PER_TENFOLD_TRIALS * math.log10(1 + self.n_trials)
        return sum(strengths) / len(strengths) + bonus + by_trials + self.weight


def scored(query: Query, entries: Iterable[Entry]) -> Iterator[tuple[float, Entry]]:
    """Yield the entries that match, with their scores."""
    for entry in entries:
        score = entry.score(query)
        if score:
            yield score, entry


def query_of(text: str) -> Query:
    """Return the search of a text, of which the first letters and words are read."""
    return Query(words_of(text[:MOST_LETTERS])[:_MOST_WORDS])


def folded(text: str) -> list[str]:
    """Return the words of a text, casefolded, without a plural s."""
    return [_singular(word) for word in _WORD.findall(text.casefold())]


def _singular(word: str) -> str:
    is_plural = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if is_plural else word


def _without_little_words(text: str) -> list[str]:
    return [token for word in words_of(text) for token in folded(word)]


def _text(texts: Iterable[str]) -> str:
    """Return texts folded, each with its words apart and as one word: ` resnet 50 | resnet50 `."""
    parts: dict[str, None] = {}
    for text in texts:
        words = folded(text)
        parts[" ".join(words)] = None
        if 1 < len(words) <= 6:
            parts["".join(words)] = None
    return f" {' | '.join(parts)} "
