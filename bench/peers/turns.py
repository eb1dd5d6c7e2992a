"""Asking peers in turn: every round one question to all of them, each answer compared with LossLake's."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import pyarrow as pa

from bench.peers.peer import Peer, asked
from bench.peers.questions import Kind, Question, differences


class Differs(Exception):
    """A peer's answer differs from LossLake's."""


@dataclass(frozen=True)
class Patience:
    """How long peers are asked. rounds: at most. seconds: after so many spent on a kind, a peer is left out of it."""

    rounds: int
    seconds: float


@dataclass(frozen=True)
class Asked:
    """What asking a peer one kind of question took: by round, its seconds and those of LossLake for the same."""

    peer: str
    kind: Kind
    seconds: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """How many times LossLake's time it takes: the median of the rounds."""
        return statistics.median(theirs / ours for theirs, ours in zip(self.seconds, self.ours, strict=True))

    @property
    def median_s(self) -> float:
        return statistics.median(self.seconds)


def in_turn(
    losslake: Peer, peers: Sequence[Peer], kind: Kind, drawn: Iterator[Question], patience: Patience
) -> list[Asked]:
    """Ask a kind of question, first once untimed of all that keep anything; raises Differs."""
    first = next(drawn)
    expected = asked(losslake, first)
    for peer in peers:
        if peer.is_cached:
            _compare(peer, kind, first, expected, asked(peer, first))
    taken = {peer.name: Asked(peer.name, kind) for peer in (losslake, *peers)}
    for question in islice(drawn, patience.rounds):
        ours_s, expected = _timed(losslake, question)
        _note(taken[losslake.name], ours_s, ours_s)
        for peer in peers:
            own = taken[peer.name]
            if sum(own.seconds) < patience.seconds:
                seconds, answer = _timed(peer, question)
                _note(own, seconds, ours_s)
                _compare(peer, kind, question, expected, answer)
    return list(taken.values())


def _note(own: Asked, seconds: float, ours: float) -> None:
    own.seconds.append(seconds)
    own.ours.append(ours)


def _timed(peer: Peer, question: Question) -> tuple[float, pa.Table]:
    started = time.perf_counter()
    answer = asked(peer, question)
    return time.perf_counter() - started, answer


def _compare(peer: Peer, kind: Kind, question: Question, expected: pa.Table, answer: pa.Table) -> None:
    apart = differences(kind, expected, answer)
    if apart:
        raise Differs(f"LossLake and {peer.name} differ on {question}: {apart}")
