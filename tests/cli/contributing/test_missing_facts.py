"""What `losslake push` asks about logs, and the mapping that answers become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import losslake.record
from losslake_cli.contributing.missing_facts import AXIS, Answers, axis_of, problem_of, questions_of
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import IngestPlan, plan_ingest
from losslake_schema.errors import LossLakeError


def planned(folder: Path) -> IngestPlan:
    return plan_ingest(None, [folder], Request())


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A run whose steps are calls of the logger."""
    with losslake.record.start(workload="mine/mnist/cnn/sgd", batch_size=8, folder=tmp_path) as run:
        for loss in (3.0, 2.0, 1.0):
            run.log({"val/loss": loss})
    return tmp_path


@pytest.mark.parametrize(
    ("answer", "axis", "second"),
    [
        ("updates", {"counts": "updates"}, 1),
        ("updates_from_zero", {"counts": "updates_from_zero"}, 2),
        ("10", {"counts": "calls", "scale": 10}, 10),
    ],
)
def test_what_steps_count_is_asked_and_kept(logs: Path, answer: str, axis: dict[str, Any], second: int) -> None:
    (question,) = questions_of(planned(logs).missing, {}, logs)
    assert (question.section, question.key, question.proposal) == (AXIS, "_step", None)
    assert problem_of(question, answer) is None
    assert axis_of("_step", answer) == {"column": "_step", **axis}
    Answers(logs).add(question, axis_of("_step", answer))
    (study,) = planned(logs).studies.values()
    assert not planned(logs).missing
    assert study.first_rows[1][1] == second


@pytest.mark.parametrize("answer", ["", "0", "-1", "1.5", "epochs", "ten", "{x}"])
def test_other_answers_about_steps_are_asked_again(logs: Path, answer: str) -> None:
    (question,) = questions_of(planned(logs).missing, {}, logs)
    assert problem_of(question, answer) == "is neither updates nor updates_from_zero nor a whole number above 0"


def test_a_line_that_cannot_be_asked_for_is_named(logs: Path) -> None:
    field = next(iter(planned(logs).missing))
    epochs = type(field)("the steps are epochs", '[[axis]]\ncolumn = "epoch"\ncounts = "epochs"\nepoch_size = "…"')
    with pytest.raises(LossLakeError, match=r"the steps are epochs: add to .*losslake\.toml: \[\[axis\]\] column"):
        questions_of([epochs], {}, logs)
