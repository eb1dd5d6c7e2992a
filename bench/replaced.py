"""Offering a corrected study to a full lake: what it takes, what of the lake changes, and whether answers follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.answers import expect
from bench.corrected import Correction
from bench.full_questions import check_scaling
from bench.truth import StudyTruth
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile
from losslake.questions import curves
from losslake.questions.release.view import ReleaseView
from losslake_ingest.run import ingest
from losslake_schema.names import Study
from losslake_schema.tables import PARTITIONED


@dataclass(frozen=True)
class Rewritten:
    """The files of a release that the one before lacks.

    corrected, others: files of the corrected study and of other ones. bytes: of these. small_bytes: of the tables that
    are one file each.
    """

    corrected: int
    others: int
    bytes: int
    small_bytes: int


@dataclass(frozen=True)
class Difference:
    """A measurement whose value in the lake is not what the study's text says."""

    trial_id: int
    step: int
    metric: str
    stored: float
    text: float


def publish_correction(folder: Path, correction: Correction) -> None:
    """Offer a corrected study to a lake; raises WrongAnswer unless it alone is in the release that this makes."""
    summary = ingest(Lake.open(folder), [correction.folder])
    expect("what became of the correction", (summary.studies_ingested, summary.quarantined), (1, ()))


def rewritten(folder: Path, correction: Correction) -> Rewritten:
    """Return the changes of the newest release."""
    lake = Lake.open(folder)
    newest, before = lake.releases()[:2]
    known = {(file.path, file.sha256) for file in lake.files(before)}
    new = [file for file in lake.files(newest) if (file.path, file.sha256) not in known]
    partitioned = [file for file in new if file.table in PARTITIONED]
    corrected = [file for file in partitioned if file.study == correction.truth.study]
    return Rewritten(
        len(corrected), len(partitioned) - len(corrected), _bytes(partitioned), _bytes(new) - _bytes(partitioned)
    )


def check_correction(folder: Path, correction: Correction, truths: Sequence[StudyTruth]) -> None:
    """Raise WrongAnswer unless every answer follows, and the study's values are what its text says, but one before."""
    lake, was, truth = Lake.open(folder), correction.was, correction.truth
    newest, before = (ReleaseView.open(lake, release) for release in lake.releases()[:2])
    check_scaling(newest, correction.applied_to(truths))
    corrected = Difference(truth.trial_id, truth.steps, truth.metric, was.value, truth.value)
    expect(f"values of {truth.study}", list(differences(newest, truth.study, correction.folder)), [])
    expect(f"values of {truth.study} before", list(differences(before, truth.study, correction.folder)), [corrected])


def differences(view: ReleaseView, study: Study, folder: Path) -> Iterator[Difference]:
    """Where a release does not hold what the CSV files of a study say, read by Python; raises WrongAnswer for rows."""
    texts = sorted(folder.rglob("measurements.csv"), key=lambda path: int(path.parent.name))
    for metric in texts[0].read_text().partition("\n")[0].split(",")[1:]:
        trials, steps, right = _by_text(texts, metric)
        answer = curves.QUESTION.answer(view, curves.CurvesParameters(study=[str(study)], metric=[metric]))
        rows = pa.Table.from_batches(answer.batches, answer.schema)
        stored = rows["value"].to_numpy()
        expect(f"trials of {metric}", np.array_equal(rows["trial_id"].to_numpy(), trials), True)
        expect(f"steps of {metric}", np.array_equal(rows["step"].to_numpy(), steps), True)
        for at in np.flatnonzero((stored != right) & ~(np.isnan(stored) & np.isnan(right))):
            yield Difference(int(trials[at]), int(steps[at]), metric, float(stored[at]), float(right[at]))


def _by_text(
    texts: Sequence[Path], metric: str
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return trial, step and value of each evaluation."""
    trials: list[int] = []
    steps: list[int] = []
    values: list[float] = []
    for path in texts:
        header, *lines = (line.split(",") for line in path.read_text().splitlines())
        column = header.index(metric)
        trials += [int(path.parent.name)] * len(lines)
        steps += [int(cells[0]) for cells in lines]
        values += [float(cells[column]) for cells in lines]
    return np.array(trials, np.int64), np.array(steps, np.int64), np.array(values, np.float64)


def _bytes(files: Sequence[DataFile]) -> int:
    return sum(file.bytes for file in files)
