"""A lake of many studies is what its benchmark says, and a history has the releases that it asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.archive import write_studies
from bench.full_questions import check_scaling
from bench.history import history
from bench.many_plans import plans_of_many
from bench.truth import read_truth, truth_path
from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView
from losslake_ingest.run import ingest

pytestmark = pytest.mark.slow


def test_many_studies_have_ten_batch_sizes_a_workload_and_the_steps_of_their_truth(tmp_path: Path) -> None:
    archive = tmp_path / "many.tar.bz2"
    write_studies(archive, list(plans_of_many(12)), 1)
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [archive])
    view = ReleaseView.open(lake, lake.release())
    assert [len(facts.batch_sizes) for facts in view.workloads.values()] == [10, 2]
    check_scaling(view, list(read_truth(truth_path(archive))))


def test_each_release_of_a_history_corrects_one_study(tmp_path: Path) -> None:
    (told,) = history(tmp_path / "lake", 2)
    lake = Lake.open(tmp_path / "lake")
    before, after = ({file.path for file in lake.files(lake.release(number))} for number in (1, 2))
    assert len({path.rpartition("/")[0] for path in after - before if "batch_size" in path}) == 2
    assert told.scale == 2
