"""Nearness of workloads, by their names: beside which stored ones a run is shown."""

from __future__ import annotations

from enum import StrEnum

from losslake_schema.names import Workload


class Nearness(StrEnum):
    """Names that two workloads share, the nearest first. Whether their data and models are the same isn't checked."""

    WORKLOAD = "the same workload"
    OPTIMIZER = "the same data set, model and optimizer"
    MODEL = "the same data set and model"

    @property
    def rank(self) -> int:
        """0 for the nearest."""
        return list(Nearness).index(self)


def nearness(one: Workload, other: Workload) -> Nearness | None:
    """Return how near two workloads are; None if they have not the same data set and model."""
    if (one.dataset, one.model) != (other.dataset, other.model):
        return None
    if one.optimizer != other.optimizer:
        return Nearness.MODEL
    return Nearness.WORKLOAD if one == other else Nearness.OPTIMIZER
