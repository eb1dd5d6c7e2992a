"""The synthetic archive has the published shape, and every answer about it is what it was made from."""

from __future__ import annotations

import csv
import hashlib
import json
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby, islice, pairwise
from pathlib import Path

import numpy as np
import pytest

from bench.archive import write_studies
from bench.plan import Scale, StudyPlan, plans
from bench.published import published
from bench.truth import read_truth, truth_path
from losslake.lake.lake import Lake
from losslake.questions import scaling
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.selection import Goal, Selection
from losslake_ingest.contracts.report import Summary
from losslake_ingest.run import ingest
from tests.losslake.questions.views import answer_to

TABLE = Path(__file__).parents[3] / "shared" / "reference" / "study_counts.csv"
COLUMNS = ("batch_size", "steps", "trial_id", "value", "previous_step", "n_trials")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every fifth study, so that every workload is there, with few evaluations."""
    path = tmp_path_factory.mktemp("archive") / "small.tar.bz2"
    write_studies(path, plans(Scale(0.02, evaluations=2_500_000))[::5], processes=1)
    return path


@pytest.fixture(scope="module")
def ingested(archive: Path) -> tuple[Lake, Summary]:
    lake = Lake.create(archive.with_name("lake"))
    return lake, ingest(lake, [archive])


@pytest.fixture(scope="module")
def view(ingested: tuple[Lake, Summary]) -> ReleaseView:
    lake, _ = ingested
    return ReleaseView.open(lake, lake.release())


def by_status(studies: list[StudyPlan]) -> list[int]:
    statuses = np.concatenate([study.status for study in studies])
    return [int(count) for count in np.bincount(statuses)]


def test_full_scale_has_the_published_number_of_studies_trials_and_evaluations() -> None:
    studies = plans(Scale(1.0))
    assert len(published()) == 35
    assert len(studies) == 454
    assert by_status(studies) == [108_194, 43_508, 42_697]
    assert sum(int(study.rows.sum()) for study in studies) == 71_638_836


@pytest.mark.skipif(not TABLE.is_file(), reason="needs the published table beside the repository")
def test_every_study_has_the_trials_that_the_published_table_says() -> None:
    with TABLE.open() as file:
        table = [tuple(row.values()) for row in csv.DictReader(file)]
    planned = [
        (*study.workload.path.rsplit("/", 2), study.batch_size, *np.bincount(study.status, minlength=3).tolist())
        for study in plans(Scale(1.0))
    ]
    assert [tuple(map(str, row)) for row in planned] == table


@pytest.mark.parametrize("size", [0.0001, 0.01, 0.1])
def test_a_smaller_scale_keeps_every_study_and_its_part_of_the_evaluations(size: float) -> None:
    studies = plans(Scale(size))
    assert len(studies) == 454
    assert sum(int(study.rows.sum()) for study in studies) == round(71_638_836 * size)


@pytest.mark.parametrize("size", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scale_that_is_no_positive_number_is_refused(size: float) -> None:
    with pytest.raises(ValueError, match="give a number above 0"):
        plans(Scale(size))


def test_complete_trials_run_to_train_steps_and_incomplete_ones_do_not() -> None:
    for study in plans(Scale(0.1)):
        assert study.last_step[study.status == 0].min() >= study.train_steps
        assert (study.last_step[study.status == 1] < study.train_steps).all()
        assert study.last_step[study.best] >= study.steps_to_goal


def test_studies_with_longer_runs_have_more_evaluations() -> None:
    for workload, group in groupby(plans(Scale(1.0)), key=lambda study: study.workload.path):
        longest = [int(study.rows[study.status == 0].max()) for study in group]
        assert longest == sorted(longest, reverse=True), workload


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_whatever_the_number_of_processes(tmp_path: Path) -> None:
    digests = []
    for seed, processes in ((1, 1), (1, 2), (2, 1)):
        path = tmp_path / f"{seed}-{processes}.tar.bz2"
        write_studies(path, plans(Scale(0.002, seed))[::50], processes)
        digests.append(hashlib.sha256(path.read_bytes() + truth_path(path).read_bytes()).hexdigest())
    assert digests[0] == digests[1] != digests[2]


def test_archives_of_several_scales_have_a_truth_each() -> None:
    assert truth_path(Path("lakes/0.1.tar.bz2")) == Path("lakes/0.1.truth.jsonl")
    assert truth_path(Path("lakes/0.01.tar.bz2")) == Path("lakes/0.01.truth.jsonl")


@pytest.mark.slow
def test_synthetic_archive_has_no_quarantined_trials(ingested: tuple[Lake, Summary], archive: Path) -> None:
    lake, summary = ingested
    truths = list(read_truth(truth_path(archive)))
    assert (summary.quarantined, summary.broken) == ((), ())
    assert summary.evaluations == sum(truth.evaluations for truth in truths)
    assert lake.release().n_trials == sum(truth.complete + truth.incomplete + truth.infeasible for truth in truths)


@pytest.mark.slow
def test_scaling_of_every_workload_is_what_the_archive_was_made_from(view: ReleaseView, archive: Path) -> None:
    workloads = {key: list(truths) for key, truths in groupby(read_truth(truth_path(archive)), lambda truth: truth.key)}
    assert workloads.keys() == view.workloads.keys()
    assert len(workloads) == 35
    for workload, truths in workloads.items():
        answer = answer_to(scaling.QUESTION, view, Selection((workload,), truths[0].metric), Goal(truths[0].goal))
        found = [tuple(row[name] for name in COLUMNS) for batch in answer.batches for row in batch.to_pylist()]
        assert found == [(t.batch_size, t.steps, t.trial_id, t.value, t.previous_step, t.complete) for t in truths]


def test_steps_of_the_best_trials_follow_the_law_of_the_workload(archive: Path) -> None:
    for truth in read_truth(truth_path(archive)):
        law = truth.least_steps * (1 + truth.critical_batch_size / truth.batch_size)
        assert law <= truth.steps < law + 1


def test_curves_begin_at_step_0_and_only_those_of_diverged_trials_may_end_in_nan(archive: Path) -> None:
    ends: dict[str, set[str]] = defaultdict(set)
    for status, _, rows in csv_files(archive):
        assert rows[0][0] == "0"
        ends[status].add("nan" if "nan" in rows[-1] else "number")
        assert all(int(before[0]) < int(after[0]) for before, after in pairwise(rows))
    assert ends == {"COMPLETE": {"number"}, "INCOMPLETE": {"number"}, "INFEASIBLE": {"nan", "number"}}


def test_error_rates_are_multiples_of_one_over_the_split_and_numbers_have_six_digits(archive: Path) -> None:
    for _, columns, rows in islice(csv_files(archive, "mnist/fc_1024/"), 20):
        errors = [float(row[columns.index("val/classification_error")]) * 5_000 for row in rows]
        assert errors == pytest.approx([round(error) for error in errors], abs=1e-9)
        digits = [value.lstrip("0.").replace(".", "") for row in rows for value in row[1:] if "e" not in value]
        assert max(map(len, digits)) == 6


def csv_files(archive: Path, part: str = "") -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """The status, header and rows of every trial whose path has that part."""
    status = ""
    with tarfile.open(archive) as members:
        for member in members:
            file = members.extractfile(member)
            if file is None or part not in member.name:
                continue
            if member.name.endswith("metadata.json"):
                status = json.loads(file.read())["status"]
            elif member.name.endswith(".csv"):
                header, *rows = (line.split(",") for line in file.read().decode().splitlines())
                yield status, header, rows
