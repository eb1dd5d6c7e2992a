"""The stored curves behind the runs of the dashboard: those of the nearest workload of the lake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from losslake.questions.release.nearness import Nearness
from losslake.questions.release.view import ReleaseView
from losslake_contributions.dashboard.query import Axis
from losslake_contributions.dashboard.runs import LiveRun
from losslake_contributions.live.stored_trials import candidates, drawn_curves, nearest_sizes
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Workload
from losslake_schema.quantities import counted
from losslake_service.web.templates import page_path, with_query

_POINTS = 100


@dataclass(frozen=True)
class StoredCurves:
    """Stored curves. address: of their values in JSON. page: of their workload. about: which they are."""

    address: str
    page: str
    about: str


def stored_curves(view: ReleaseView, runs: Sequence[LiveRun], metric: str, axis: Axis) -> StoredCurves | None:
    """Return the curves to show behind runs: of the workload and batch size that most of them state; None for none.

    On the axis of seconds there are none, as other machines need other times.
    """
    stated = Counter((run.workload, run.batch_size, run.batch_unit) for run in runs if run.workload and run.batch_size)
    for (name, batch_size, unit), _ in stated.most_common(1):
        assert name is not None
        assert batch_size is not None
        if axis == "seconds" or (axis != "step" and (axis == "tokens") != (unit == "tokens")):
            return None
        try:
            near = candidates(view, Workload.parse(name), unit)
        except LossLakeError:
            return None
        for candidate in near:
            sizes = nearest_sizes(candidate.sizes(metric), batch_size)
            if sizes:
                places, n, n_stored = drawn_curves(candidate.facts, sizes)
                query = [*places, ("metric", metric), ("points", _POINTS), ("release", view.number)]
                who = f"{n:,} of {counted(n_stored, 'trial')}" if n < n_stored else counted(n, "trial")
                at = " and ".join(f"{size:,}" for size in sizes)
                # Not all of the runs need be of it.
                is_theirs = candidate.nearness is Nearness.WORKLOAD
                of = "the workload that most runs state" if is_theirs else candidate.nearness
                about = f"Grey: {who} of {candidate.workload} at batch size {at}, {of}."
                return StoredCurves(with_query("/v1/curves.json", query), page_path(candidate.workload), about)
    return None
