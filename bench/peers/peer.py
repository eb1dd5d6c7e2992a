"""The interface of a peer: a system that answers the questions."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from bench.peers.questions import AllScalings, Best, Curve, Kind, Question, Scaling, Sweep


class Peer(Protocol):
    """Answers are Arrow tables with the columns of the question's kind, in any order of rows.

    is_cached: True if it is asked once untimed. is_rival: True if LossLake is to be ahead of it.
    """

    name: str
    is_cached: bool
    is_rival: bool

    def scaling(self, question: Scaling) -> pa.Table: ...

    def curve(self, question: Curve) -> pa.Table: ...

    def best(self, question: Best) -> pa.Table: ...

    def sweep(self, question: Sweep) -> pa.Table: ...


def answer_of(peer: Peer, question: Question) -> pa.Table:
    """Return the peer's answer."""
    match question:
        case Scaling():
            return peer.scaling(question)
        case AllScalings():
            return pa.concat_tables([_named(one, peer.scaling(one)) for one in question.scalings])
        case Curve():
            return peer.curve(question)
        case Best():
            return peer.best(question)
        case Sweep():
            return peer.sweep(question)


def _named(question: Scaling, answer: pa.Table) -> pa.Table:
    """Return the compared columns of a workload, with its name."""
    return answer.select([*Kind.SCALING.keys, *Kind.SCALING.compared]).append_column(
        "workload", pa.repeat(str(question.aim.workload), answer.num_rows)
    )
