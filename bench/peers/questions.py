"""The five questions that every peer is asked, and the rows that answer them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from losslake_schema.names import Study, Trial, Workload


class Kind(Enum):
    """A kind of question: its title, the columns that identify the rows of an answer, and those that are compared."""

    ALL = ("all workloads", ("workload", "batch_size"), ("step", "trial_id", "value"))
    SCALING = ("one workload", ("batch_size",), ("step", "trial_id", "value"))
    CURVE = ("one curve", ("step",), ("value",))
    BEST = ("best in a budget", ("batch_size",), ("step", "trial_id", "value"))
    SWEEP = ("50 targets", ("target", "batch_size"), ("step", "trial_id", "value"))

    def __init__(self, title: str, keys: tuple[str, ...], compared: tuple[str, ...]) -> None:
        self.title = title
        self.keys = keys
        self.compared = compared


@dataclass(frozen=True)
class Aim:
    """A metric of a workload. sign: 1 where less is better, -1 where more is."""

    workload: Workload
    metric: str
    sign: int


@dataclass(frozen=True)
class Scaling:
    """Steps to result at every batch size of a workload."""

    aim: Aim
    target: float

    kind = Kind.SCALING


@dataclass(frozen=True)
class AllScalings:
    """Steps to result at every batch size of every workload, each with a metric and target of its own.

    Peers are asked for one workload after the other: engines were slower with one statement over all of them.
    """

    scalings: tuple[Scaling, ...]

    kind = Kind.ALL


@dataclass(frozen=True)
class Curve:
    """Every measurement of one metric in one trial."""

    trial: Trial
    metric: str

    kind = Kind.CURVE

    @property
    def study(self) -> Study:
        return self.trial.study


@dataclass(frozen=True)
class Best:
    """The best value at every batch size of a workload up to a step; ties to the lesser step, then the lower trial."""

    aim: Aim
    step_budget: int

    kind = Kind.BEST


@dataclass(frozen=True)
class Sweep:
    """Steps to result at every batch size of a workload, for each of many targets."""

    aim: Aim
    targets: tuple[float, ...]

    kind = Kind.SWEEP


Question = Scaling | AllScalings | Curve | Best | Sweep


def differences(kind: Kind, ours: pa.Table, theirs: pa.Table) -> str | None:
    """Return how two answers differ, bit for bit; None if they are equal. Rows without a step don't count."""
    left, right = _ordered(kind, ours), _ordered(kind, theirs)
    if left.num_rows != right.num_rows:
        return f"{left.num_rows} rows and {right.num_rows}"
    for name in (*kind.keys, *kind.compared):
        apart = np.flatnonzero(~_same(left[name], right[name]))
        if len(apart):
            row = int(apart[0])
            return f"row {row}: {left.slice(row, 1).to_pylist()[0]} and {right.slice(row, 1).to_pylist()[0]}"
    return None


def _ordered(kind: Kind, answer: pa.Table) -> pa.Table:
    names = (*kind.keys, *kind.compared)
    rows = answer.select(names)
    wanted = pa.schema([(name, _TYPES.get(name, pa.int64())) for name in names])
    there = rows.filter(rows["step"].is_valid()).cast(wanted)
    return there.sort_by([(name, "ascending") for name in kind.keys]).combine_chunks()


def _same(left: pa.ChunkedArray, right: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Return where two columns of one type have the same bits; every nan is the same."""
    ours, theirs = left.to_numpy(), right.to_numpy()
    are_same: npt.NDArray[np.bool_] = ours == theirs
    if pa.types.is_floating(left.type):
        are_same = ours.view(np.int64) == theirs.view(np.int64)
        are_same |= np.isnan(ours) & np.isnan(theirs)
    return are_same


_TYPES: dict[str, pa.DataType] = {"workload": pa.string(), "target": pa.float64(), "value": pa.float64()}
