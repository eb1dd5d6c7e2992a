"""What lakes store of trials, without their numbers and sources, to compare lakes."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from losslake.lake.data_files import read_small_table
from losslake.lake.lake import Lake
from losslake_contributions.client.conversion import Conversion, convert
from losslake_ingest.contracts.report import Summary
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.pipeline.stored_curves import stored_curves
from losslake_ingest.run import ingest
from losslake_schema.names import Study
from losslake_schema.tables import STUDY_KEYS

Trials = Counter[tuple[object, ...]]


def trials_of(lake: Lake) -> Trials:
    """How often each trial is stored, by everything but its number and source; curves by their digests."""
    files = lake.files(lake.release())
    studies = {Study.of(row): row for row in read_small_table(lake.store, files, "studies").to_pylist()}
    rows = read_small_table(lake.store, files, "trials").to_pylist()
    found: Trials = Counter()
    for study, facts in studies.items():
        own = sorted((row for row in rows if Study.of(row) == study), key=lambda row: int(row["trial_id"]))
        measured = [each for each in files if each.table == "measurements" and each.study == study]
        curves = stored_curves(lake.store, measured, [row["trial_id"] for row in own])
        for index, row in enumerate(own):
            curve = curves.trial(index)
            digest = hashlib.sha256(curve.steps.tobytes())
            for metric, values in sorted(curve.values.items()):
                absent = curve.missing.get(metric)
                if absent is not None and absent.all():
                    continue
                digest.update(metric.encode() + (absent.tobytes() if absent is not None and absent.any() else b""))
                digest.update(values[~absent].tobytes() if absent is not None else values.tobytes())
            if curve.elapsed_s is not None and not np.isnan(curve.elapsed_s).all():
                digest.update(curve.elapsed_s.tobytes())
            found[
                str(study), facts["batch_unit"], facts["train_steps"], row["status"], row["steps"],
                tuple(sorted(row["parameters"])), tuple(sorted(row["attributes"])), digest.hexdigest(),
            ] += 1  # fmt: skip
    return found


def goals_of(lake: Lake) -> set[tuple[object, ...]]:
    """The goals of a lake."""
    rows = read_small_table(lake.store, lake.files(lake.release()), "goals").to_pylist()
    return {(*(row[key] for key in STUDY_KEYS[:4]), row["metric"], row["target"], row["comparator"]) for row in rows}


def directions_of(lake: Lake) -> dict[str, str | None]:
    """The directions of the metrics of a lake."""
    rows = read_small_table(lake.store, lake.files(lake.release()), "metrics").to_pylist()
    return {row["metric"]: row["direction"] for row in rows}


def both_ways(
    places: Sequence[str], folder: Path, request: Request | None = None
) -> tuple[Lake, Summary, Lake, Conversion]:
    """A lake of logs, with its summary, and a lake of the spools made from them, with what became of the logs."""
    request = request or Request()
    direct = Lake.create(folder / "direct")
    summary = ingest(direct, places, request)
    conversion = convert(places, request, folder / "spools")
    converted = Lake.create(folder / "converted")
    again = ingest(converted, [str(folder / "spools")])
    assert not again.quarantined, again.quarantined[:3]
    assert not again.broken
    return direct, summary, converted, conversion
