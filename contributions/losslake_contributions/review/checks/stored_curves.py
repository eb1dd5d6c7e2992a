"""The stored curves of a metric, with an index of their windows, kept in files that processes map into memory.

Reading and indexing all curves of a metric takes up to a few seconds, and every review needs it. The files are those of
one release, below the folder of the drafts; they can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from losslake.lake.machine import sync_to_disk
from losslake.questions.release.view import ReleaseView
from losslake_contributions.review.checks.curve_index import CommonRun, CurveIndex, Windows
from losslake_contributions.review.checks.evidence import Curve, Evidence
from losslake_contributions.review.queries import query
from losslake_schema.names import Trial
from losslake_schema.reached import Floats, Integers

_NAMES = "names.json"
_VERSION = 1
"""Raised with every change of what the files hold."""


@dataclass(frozen=True)
class Curves:
    """Curves of one metric, concatenated, and the name of each. offsets, windows: as of a CurveIndex."""

    names: Sequence[str]
    values: Floats
    steps: Integers
    offsets: Integers
    windows: Windows

    @cached_property
    def index(self) -> CurveIndex:
        """The index of the curves."""
        return CurveIndex(self.values, self.offsets, self.windows)

    def steps_of(self, common: CommonRun) -> Integers:
        """Return the steps of the values that a curve has in common with one of these."""
        start = int(self.offsets[common.other]) + common.other_start
        return self.steps[start : start + common.length]

    def length(self, curve: int) -> int:
        """Return the number of values of a curve."""
        return int(self.offsets[curve + 1] - self.offsets[curve])


def concatenated(curves: Mapping[str, Curve]) -> Curves:
    """Return the curves of some runs."""
    lengths = [len(curve.values) for curve in curves.values()]
    values = np.concatenate([np.empty(0), *(curve.values for curve in curves.values())])
    steps = np.concatenate([np.empty(0, np.int64), *(curve.steps for curve in curves.values())])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Curves([*curves], values, steps, offsets, Windows.of(values, offsets))


def stored_curves(evidence: Evidence, metric: str) -> Curves | None:
    """Return all stored curves of a metric of the base release; None without any."""
    view, base = evidence.stored, evidence.base
    if view is None or base is None or metric not in view.metrics:
        return None
    if evidence.cache is None:
        return _read(view, metric)
    release = base.release(evidence.draft.base)
    folder = evidence.cache / f"{_VERSION}-{release.number}-{release.content_digest[:32]}"
    place = folder / hashlib.sha256(metric.encode()).hexdigest()[:32]
    curves = _load(place)
    if curves is None:
        curves = _read(view, metric)
        _save(curves, place)
    return curves


def _read(view: ReleaseView, metric: str) -> Curves:
    table = query(view, "curves_of_metric", {"metric": metric}).combine_chunks()
    if not table.num_rows:
        return concatenated({})
    lists = table["values"].chunk(0)
    offsets = lists.offsets.to_numpy().astype(np.int64)
    rows = slice(int(offsets[0]), int(offsets[-1]))
    names = [str(Trial.of(row)) for row in table.drop_columns(["steps", "values"]).to_pylist()]
    steps = table["steps"].chunk(0).values.to_numpy()[rows]
    values, offsets = lists.values.to_numpy()[rows], offsets - offsets[0]
    return Curves(names, values, steps, offsets, Windows.of(values, offsets))


def _load(place: Path) -> Curves | None:
    """Return the curves of a folder; None if it isn't there, or was deleted meanwhile."""
    try:
        names = json.loads((place / _NAMES).read_bytes())
        values, steps, offsets, hashes, starts = (
            np.load(place / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            for name in ("values", "steps", "offsets", "hashes", "starts")
        )
    except (OSError, ValueError, EOFError):
        return None
    return Curves(names, values, steps, offsets, Windows(hashes, starts))


def _save(curves: Curves, place: Path) -> None:
    """Write curves into a folder, as a whole, and delete those of other releases."""
    arrays = {
        "values": curves.values,
        "steps": _compact(curves.steps),
        "offsets": curves.offsets,
        "hashes": curves.windows.hashes,
        "starts": _compact(curves.windows.starts),
    }
    unfinished = place.with_name(f"{place.name}.{uuid.uuid4().hex[:12]}")
    try:
        unfinished.mkdir(parents=True)
        for name, array in arrays.items():
            np.save(unfinished / f"{name}.npy", array, allow_pickle=False)
        (unfinished / _NAMES).write_text(json.dumps(curves.names), "utf-8")
        sync_to_disk(unfinished, [*unfinished.iterdir()])
        shutil.rmtree(place, ignore_errors=True)
        unfinished.rename(place)
        for other in place.parent.parent.iterdir():
            if other != place.parent:
                shutil.rmtree(other, ignore_errors=True)
    except OSError:
        return  # a full disk, or another process that wrote the same: the next review reads them again
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _compact(numbers: Integers) -> Integers:
    """Return integers of 32 bits where they fit."""
    fits = not len(numbers) or (numbers.min() >= 0 and numbers.max() < 2**31)
    return numbers.astype(np.int32) if fits else numbers
