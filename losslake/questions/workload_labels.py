"""Names for the series of several workloads: what differs between them; what doesn't is said once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from losslake_schema.names import Workload


@dataclass(frozen=True)
class Labels:
    """common: what all the workloads share. own: what each has besides, by workload; empty texts for a single one."""

    common: str
    own: dict[str, str]


def workload_labels(workloads: Sequence[str]) -> Labels:
    """Labels of workloads, which are given as collection/dataset/model/optimizer."""
    parsed = [Workload.parse(workload) for workload in workloads]
    parts = [(each.collection, each.dataset, each.model, each.optimizer) for each in parsed]
    varies = [len(set(column)) > 1 for column in zip(*parts, strict=True)]
    common = "/".join(part for part, differs in zip(parts[0], varies, strict=True) if not differs) if parts else ""
    own = {
        workload: "/".join(part for part, differs in zip(each, varies, strict=True) if differs)
        for workload, each in zip(workloads, parts, strict=True)
    }
    return Labels(common, own)
