"""Asking peers in turn: every round one question to all of them, each answer compared with LossLake's."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import pyarrow as pa

from bench.peers.peer import Peer, answer_of
from bench.peers.questions import Kind, Question, differences


class Differs(Exception):
    """A peer's answer differs from LossLake's."""


@dataclass(frozen=True)
class Patience:
    """How long peers are asked. rounds: at most. seconds: after so many spent on a kind, a peer is left out of it."""

    rounds: int
    seconds: float


@dataclass(frozen=True)
class PeerTimes:
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
) -> list[PeerTimes]:
    """Ask a kind of question, first once untimed of all that keep anything; raises Differs."""
    first = next(drawn)
    expected = answer_of(losslake, first)
    for peer in peers:
        if peer.is_cached:
            _compare(peer, kind, first, expected, answer_of(peer, first))
    times = {peer.name: PeerTimes(peer.name, kind) for peer in (losslake, *peers)}
    for question in islice(drawn, patience.rounds):
        ours_s, expected = _timed(losslake, question)
        _note(times[losslake.name], ours_s, ours_s)
        for peer in peers:
            peer_times = times[peer.name]
            if sum(peer_times.seconds) < patience.seconds:
                seconds, answer = _timed(peer, question)
                _note(peer_times, seconds, ours_s)
                _compare(peer, kind, question, expected, answer)
    return list(times.values())


def _note(times: PeerTimes, seconds: float, ours: float) -> None:
    times.seconds.append(seconds)
    times.ours.append(ours)


def _timed(peer: Peer, question: Question) -> tuple[float, pa.Table]:
    started = time.perf_counter()
    answer = answer_of(peer, question)
    return time.perf_counter() - started, answer


def _compare(peer: Peer, kind: Kind, question: Question, expected: pa.Table, answer: pa.Table) -> None:
    apart = differences(kind, expected, answer)
    if apart:
        raise Differs(f"LossLake and {peer.name} differ on {question}: {apart}")
