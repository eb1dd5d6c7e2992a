"""Answers that differ from LossLake's in one bit end a run."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from bench.archive import write_studies
from bench.lakes import benchmark_lake
from bench.peers.drawing import drawable_workloads, questions
from bench.peers.losslake import LossLake
from bench.peers.questions import Kind, Scaling, differences
from bench.peers.turns import Differs, Patience, in_turn
from bench.plan import Scale, plans
from losslake.questions.release.view import ReleaseView

SOME = ("cifar_10/resnet_8/sgd", "open_images_v4")


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReleaseView]:
    """A workload with an error rate, and one whose metric is maximized."""
    archive = tmp_path_factory.mktemp("archive") / "small.tar.bz2"
    made = plans(Scale(0.02, evaluations=1_500_000))
    write_studies(archive, [plan for plan in made if plan.workload.path.startswith(SOME)][::3], processes=1)
    with benchmark_lake(None, archive) as lake:
        yield ReleaseView.open(lake, lake.release())


class Wrong(LossLake):
    """LossLake, were it wrong in the last bit of a value."""

    name = "wrong"

    def scaling(self, question: Scaling) -> pa.Table:
        rows = super().scaling(question)
        index = rows.column_names.index("value")
        values = [None if value is None else value + 2**-54 for value in rows["value"].to_pylist()]
        return rows.set_column(index, "value", pa.array(values, pa.float64()))


@pytest.mark.slow
def test_an_answer_that_differs_in_its_last_bit_ends_the_run(view: ReleaseView) -> None:
    drawn = questions(drawable_workloads(view), Kind.SCALING)
    with pytest.raises(Differs, match="wrong differ"):
        in_turn(LossLake(view), [Wrong(view)], Kind.SCALING, drawn, Patience(1, 1))


@pytest.mark.parametrize(
    ("theirs", "apart"),
    [
        ([(5, 1.0), (0, float("nan"))], None),
        ([(0, float("nan")), (5, 1.0 + 2**-52)], "row 1"),
        ([(0, float("nan"))], "2 rows and 1"),
        ([(0, 0.0), (5, 1.0)], "row 0"),
    ],
)
def test_answers_are_the_same_whatever_the_order_of_their_rows_if_every_bit_is(
    theirs: list[tuple[int, float]], apart: str | None
) -> None:
    def table(rows: list[tuple[int, float]]) -> pa.Table:
        return pa.Table.from_pylist([{"step": step, "value": value} for step, value in rows])

    found = differences(Kind.CURVE, table([(0, float("nan")), (5, 1.0)]), table(theirs))
    assert found is None if apart is None else apart in str(found)
