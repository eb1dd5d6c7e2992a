"""The evidence that rules look at: the runs as sent, their trials in a draft, and what is stored beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView
from losslake_contributions.review.draft import Draft
from losslake_contributions.review.queries import query
from losslake_ingest.readers.recorded.folder import Spool
from losslake_schema.reached import Floats, Integers


@dataclass(frozen=True)
class Claim:
    """The claim that a metric of a run first reaches a target at a step."""

    run: str
    metric: str
    target: float
    steps: int


@dataclass(frozen=True)
class Curve:
    """The measurements of a metric of a trial, by ascending step."""

    steps: Integers
    values: Floats


@dataclass
class Evidence:
    """The evidence of a submission.

    spools: by the name of the run, without private data. licence: that the submission states; empty: each run's own.
    base: the lake with what is stored; None on a client without one. cache: a folder for what is read of it.
    own_submissions: those of the same contributor; None on a client, which doesn't know them.
    """

    draft: Draft
    spools: Mapping[str, Spool]
    licence: str = ""
    claims: Sequence[Claim] = ()
    base: Lake | None = None
    cache: Path | None = None
    own_submissions: frozenset[str] | None = None

    def curves(self, run: str) -> Mapping[str, Curve]:
        """Return the stored curves of a run by metric, by ascending name; none if it isn't stored."""
        return self._curves.get(run, {})

    @cached_property
    def _curves(self) -> Mapping[str, Mapping[str, Curve]]:
        """The curves of all runs."""
        if self.after is None:
            return {}
        curves: dict[str, dict[str, Curve]] = {}
        table = pl.DataFrame(query(self.after, "curves_of_trials", {"trials": [*self.draft.runs]}))
        steps, values = table["step"].to_numpy(), table["value"].to_numpy()
        begin = 0
        for trial, metric, length in table.group_by("trial", "metric", maintain_order=True).len().iter_rows():
            rows = slice(begin, begin + length)
            curves.setdefault(self.draft.runs[trial], {})[metric] = Curve(steps[rows], values[rows])
            begin += length
        return curves

    @cached_property
    def after(self) -> ReleaseView | None:
        """The draft's release with the runs; None if none is stored."""
        return self.draft.view(self.draft.after)

    @cached_property
    def before(self) -> ReleaseView | None:
        """The draft's release with stored workloads only; None without any."""
        return self.draft.view(self.draft.before)

    @cached_property
    def stored(self) -> ReleaseView | None:
        """The base release, opened for questions; None without one."""
        if self.base is None or self.draft.base is None:
            return None
        return ReleaseView.open(self.base, self.base.release(self.draft.base))
