"""A corrected study in a full lake: how long its release takes, what it changes in the lake, and if answers follow.

The corrected study has the same trials as in the archive, with other noise in their curves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bench.archive import write_studies
from bench.asking import expect
from bench.full_questions import check_scaling
from bench.growth import Figure, Limit
from bench.lakes import temporary_folder
from bench.measure import in_own_process
from bench.opening import opened
from bench.plan import StudyPlan
from bench.truth import StudyTruth, read_truth, truth_path
from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView
from losslake_ingest.run import ingest
from losslake_schema.tables import PARTITIONED


def measure_correction(lake: Path, plans: Sequence[StudyPlan], truths: Sequence[StudyTruth]) -> Iterator[Figure]:
    """Correct the study nearest to the mean size. Raises WrongAnswer unless its answers change, and no others."""
    mean = sum(truth.evaluations for truth in truths) / len(truths)
    before = min(truths, key=lambda truth: abs(truth.evaluations - mean))
    (plan,) = (
        each for each in plans if f"{each.collection}/{each.workload.path}/{each.batch_size}" == str(before.study)
    )
    with temporary_folder() as folder:
        archive = folder / "corrected.tar.bz2"
        write_studies(archive, [replace(plan, seed=(*plan.seed, 1))], processes=1)
        (after,) = read_truth(truth_path(archive))
        publishing = in_own_process(_publish, lake, archive)
    opening = in_own_process(opened, lake)
    in_own_process(_check, lake, [after if truth == before else truth for truth in truths])
    yield Figure("a corrected study, evaluations", after.evaluations)
    yield Figure("… to a new release", publishing.wall_s, "s", Limit(10.0))
    yield Figure("… peak memory", publishing.peak_mb * 2**20 / 1e9, "GB")
    yield Figure("… then to open for questions", opening.result / 1000, "s")
    yield from _rewritten(lake, before)


def _publish(folder: Path, archive: Path) -> None:
    summary = ingest(Lake.open(folder), [archive])
    expect("studies ingested and quarantined", (summary.studies_ingested, summary.quarantined), (1, ()))


def _check(folder: Path, truths: Sequence[StudyTruth]) -> None:
    lake = Lake.open(folder)
    check_scaling(ReleaseView.open(lake, lake.release()), truths)


def _rewritten(folder: Path, corrected: StudyTruth) -> Iterator[Figure]:
    """Yield the files that the newest release has and the one before lacks."""
    lake = Lake.open(folder)
    newest, previous = lake.releases()[:2]
    stored = {(file.path, file.sha256) for file in lake.files(previous)}
    new = [file for file in lake.files(newest) if (file.path, file.sha256) not in stored]
    large = [file for file in new if file.table in PARTITIONED]
    n_corrected = sum(file.study == corrected.study for file in large)
    large_bytes = sum(file.bytes for file in large)
    yield Figure("… its own files rewritten", n_corrected)
    yield Figure("… files of other studies rewritten", len(large) - n_corrected, "", Limit(0.0))
    yield Figure("… bytes of measurements and records", large_bytes / 1e6, "MB")
    yield Figure("… bytes of the other tables", (sum(file.bytes for file in new) - large_bytes) / 1e6, "MB")
