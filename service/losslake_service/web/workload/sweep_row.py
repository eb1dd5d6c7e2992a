"""A target's row of the target sweep: what the page knows of any target at once."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from losslake.questions.analysis.target_sweep import TargetGrid, target_sweep
from losslake_service.web.workload.asked import WorkloadAsked


@dataclass(frozen=True)
class SweepRow:
    """Fields as in the answer's row."""

    target: float
    coverage: float
    fewest_steps: int | None
    perfect_scaling_end: int | None
    perfect_scaling_end_censoring: str | None
    max_useful_batch_size: int | None
    max_useful_batch_size_censoring: str | None
    critical_batch_size: float | None
    critical_batch_size_lower: float | None
    critical_batch_size_upper: float | None
    not_identifiable: str | None

    @property
    def as_json(self) -> str:
        """The same for scripts."""
        return json.dumps(asdict(self), allow_nan=False)


@dataclass(frozen=True)
class TargetReach:
    """How the workload depends on its target. hardest_for_all, limiting_batch_size: None if one has no value."""

    n_breakpoints: int
    hardest_for_all: float | None
    limiting_batch_size: int | None
    hardest_for_any: float | None


@dataclass(frozen=True)
class SweepShown:
    """The sweep at the target that is looked at, and what it says of all of them."""

    row: SweepRow
    reach: TargetReach
    n_batch_sizes: int


def sweep_shown(asked: WorkloadAsked) -> SweepShown:
    """Ask the target sweep about the one target."""
    target = asked.goal.target
    answer = target_sweep(asked.page.view, asked.selection, grid=TargetGrid(target, target, 1, "linear"))
    found = answer.table().to_pylist()[0]
    summary = answer.facts["summaries"][0]
    return SweepShown(
        SweepRow(**{name: found[name] for name in SweepRow.__dataclass_fields__}),
        TargetReach(**{name: summary[name] for name in TargetReach.__dataclass_fields__}),
        len(asked.facts.batch_sizes),
    )
