"""The small charts of the first page show true numbers, one dataset after the other."""

from __future__ import annotations

from losslake_service.web.gallery import HEIGHT, WIDTH, Miniature, gallery
from losslake_service.web.goals import PageGoal
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, view_of
from tests.oracle import Row


def reaching(steps_by_size: dict[int, int]) -> list[Row]:
    return [
        row
        for size, steps in steps_by_size.items()
        for row in (Row(size, 1, "COMPLETE", 0, 0.9), Row(size, 1, "COMPLETE", steps, 0.2))
    ]


def test_a_dataset_has_its_best_covered_workload_first_and_a_model_once() -> None:
    view = view_of(reaching({8: 80, 16: 40, 32: 20, 64: 21}), goal=0.3, of_other=reaching({8: 8, 16: 4, 32: 2}))
    assert [(each.workload, each.goal.target) for each in gallery(view)] == [(WORKLOAD, 0.3)]
    assert OTHER.model == WORKLOAD.model


def test_sentence_has_the_first_steps_and_the_fewest() -> None:
    goal = PageGoal(METRIC, 0.3, "minimize")
    drawn = Miniature(WORKLOAD, goal, "tokens", [(8, 8000), (16, 40), (32, 20), (64, 20)])
    assert drawn.sentence == f"To {METRIC} < 0.3: 8,000 steps at batch size 8 tokens, 20 at 32"
    assert Miniature(WORKLOAD, goal, "examples", [(8, 80), (16, 90)]).sentence.endswith("80 steps at batch size 8")


def test_batch_sizes_that_were_tuned_worse_are_hollow_and_unsaid() -> None:
    steps = {8: 400, 16: 170, 32: 20, 64: 10, 128: 6, 256: 5}
    before = [Row(size, 1, "COMPLETE", at - 1, 0.9) for size, at in steps.items()]
    (drawn,) = gallery(
        view_of(sorted([*reaching(steps), *before], key=lambda row: (row.batch_size, row.step)), goal=0.3)
    )
    assert [worse for *_, worse in drawn.points] == [True, True, False, False, False, False]
    assert drawn.sentence == f"To {METRIC} < 0.3: 20 steps at batch size 32 something unknown, 5 at 256"
    assert drawn.finding == [
        (
            "The noise of steps is too large to tell up to which batch size doubling the batch halves the steps "
            "(within 20%); these steps put the end at 128."
        ),
        "Steps still fall at the largest batch size that reaches the target, 256: larger ones may save more.",
    ]
    assert not drawn.is_clear


def test_points_lie_in_the_picture_in_order() -> None:
    points = Miniature(WORKLOAD, PageGoal(METRIC, 0.3, "minimize"), "examples", [(1, 900), (2, 900), (4, 30)]).points
    xs, ys, _ = zip(*points, strict=True)
    assert list(xs) == sorted(xs)
    assert ys[0] == ys[1] < ys[2]
    assert all(0 < x < WIDTH and 0 < y < HEIGHT for x, y, _ in points)
