"""Asking peers in turn: every round one question to all of them, each answer compared with LossLake's."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import pyarrow as pa

from bench.measure import Measured, measured
from bench.peers.peer import Peer, answer_of
from bench.peers.questions import Kind, Question, differences


class Differs(Exception):
    """A peer's answer differs from LossLake's."""


@dataclass(frozen=True)
class Patience:
    """The most rounds, and the seconds for a kind of question after which a peer is asked no more of it."""

    rounds: int
    seconds: float


@dataclass(frozen=True)
class PeerTimes:
    """The times of a peer for one kind of question: by round, its seconds and those of LossLake for the same."""

    peer: str
    kind: Kind
    seconds: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)

    def add(self, theirs: Measured, ours: Measured) -> None:
        """Add a round."""
        self.seconds.append(theirs.wall_s)
        self.ours.append(ours.wall_s)

    @property
    def ratio(self) -> float:
        """Its time as a multiple of LossLake's: the median of the rounds."""
        return statistics.median(theirs / ours for theirs, ours in zip(self.seconds, self.ours, strict=True))

    @property
    def median_s(self) -> float:
        return statistics.median(self.seconds)


def in_turn(
    losslake: Peer, peers: Sequence[Peer], kind: Kind, drawn: Iterator[Question], patience: Patience
) -> list[PeerTimes]:
    """Ask a kind of question, first once untimed of all that keep anything; raises Differs."""
    first = next(drawn)
    expected = answer_of(losslake, first)
    for peer in peers:
        if peer.is_cached:
            _compare(peer, kind, first, expected, answer_of(peer, first))
    times = {peer.name: PeerTimes(peer.name, kind) for peer in (losslake, *peers)}
    for question in islice(drawn, patience.rounds):
        ours = measured(answer_of, losslake, question)
        times[losslake.name].add(ours, ours)
        for peer in peers:
            if sum(times[peer.name].seconds) < patience.seconds:
                theirs = measured(answer_of, peer, question)
                times[peer.name].add(theirs, ours)
                _compare(peer, kind, question, ours.result, theirs.result)
    return list(times.values())


def _compare(peer: Peer, kind: Kind, question: Question, expected: pa.Table, answer: pa.Table) -> None:
    apart = differences(kind, expected, answer)
    if apart:
        raise Differs(f"LossLake and {peer.name} differ on {question}: {apart}")
