"""Every analysis says how it was computed, and its answer is the one that OpenAPI describes."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from losslake.questions import questions
from losslake.questions.declaration.question import Question
from losslake.questions.questions import PREFIX
from tests.service.routes.test_validity import QUESTIONS

ANALYSES = {question.path.removeprefix("/v1/"): question for question in questions.ANALYSES}


@pytest.fixture(scope="module", params=ANALYSES)
def answered(request: pytest.FixtureRequest, client: TestClient) -> tuple[Question, dict[str, Any]]:
    response = client.get(f"/v1/{request.param}?{QUESTIONS[request.param]}")
    assert response.status_code == 200, response.text
    return ANALYSES[request.param], response.json()


def test_answer_describes_its_method(answered: tuple[Question, dict[str, Any]]) -> None:
    _, answer = answered
    assert isinstance(answer["definition"], str)
    assert len(answer["definition"]) > 20
    assert isinstance(answer["n_used"], int)
    assert all(isinstance(text, str) for text in [*answer["left_out"], *answer["warnings"]])


def test_answer_has_the_documented_fields(answered: tuple[Question, dict[str, Any]]) -> None:
    question, answer = answered
    assert list(answer) == question.summary_schema()["required"]
    for row in answer[question.rows_name]:
        assert list(row) == [column.name for column in question.rows.columns]


def test_null_columns_are_documented_as_nullable(answered: tuple[Question, dict[str, Any]]) -> None:
    question, answer = answered
    for row in answer[question.rows_name]:
        assert [c.name for c in question.rows.columns if row[c.name] is None and not c.nullable] == []


def test_analyses_are_in_the_order_of_their_names() -> None:
    paths = [question.path for question in questions.ANALYSES]
    assert paths == sorted(paths)
    assert all(path.startswith(PREFIX) for path in paths)
