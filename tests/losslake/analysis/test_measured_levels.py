"""Sentences state levels that were measured, and less where a level is missed."""

from __future__ import annotations

import inspect
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from losslake.analysis.measured_levels import MeasuredLevel, measured, measured_levels, missed, stated
from losslake.questions.declaration.question import Question
from losslake.questions.questions import ANALYSES

ROOT = Path(__file__).parents[3]
LEVEL = MeasuredLevel("compare", "a statement", "at least", 90, {"3": (88, 100), "20": (95, 100)}, (80.0, 99.0))
CLAIM = re.compile(
    r"(\d+)% (?:[\w-]+ ){0,2}?(?:intervals?|bounds?|probability|profile|chance of|of searches|of simulations|of draws"
    r"|of batch sizes|of comparisons|of studies)\b"
)
"""Statements of levels: of intervals, bounds and errors, not of quantiles."""
JOINED = re.compile(r"""["']\s*\n\s*f?["']""")
"""Where a text goes on in the next line of the source."""
SAME = {"atlas": "critical-batch-size", "target-sweep": "critical-batch-size", "tuning-budget": "survival"}
"""Questions whose intervals are those of another."""


def test_a_level_that_holds_is_stated_as_it_is() -> None:
    assert LEVEL.holds
    assert LEVEL.percent == 90


@pytest.mark.parametrize(
    ("changed", "percent"),
    [
        ({"trials": {"3": (700, 1000), "20": (950, 1000)}}, 70),
        ({"trials": {"3": (900, 1000)}, "worst": 3.1}, 90),
        ({"kind": "at most", "level": 5, "trials": {"3": (120, 1000), "5": (40, 1000)}}, 12),
    ],
)
def test_a_missed_level_is_stated_as_it_was_measured(changed: dict[str, object], percent: int) -> None:
    level = replace(LEVEL, **changed)  # type: ignore[arg-type]
    assert not level.holds
    assert level.percent == percent


def test_a_miss_is_what_binomial_errors_do_not_explain() -> None:
    assert missed("at least", 90, 80, 100, 2.0) == pytest.approx(10 - 2 * 4)
    assert missed("at most", 5, 9, 100, 0.0) == pytest.approx(4)
    assert missed("power", None, 0, 100, 0.0) == 0


def test_the_worst_of_several_levels_is_stated_and_none_that_was_not_measured() -> None:
    assert stated("critical-batch-size interval") == "90%"
    assert stated("compare differs") == "5%"
    with pytest.raises(KeyError, match="nothing"):
        stated("nothing")
    with pytest.raises(ValueError, match="no level"):
        _ = measured_levels()["compare power"].percent


@pytest.mark.parametrize("question", ANALYSES, ids=lambda each: each.subject)
def test_every_level_in_the_words_of_a_question_was_measured(question: Question) -> None:
    source = inspect.getsource(sys.modules[question.compute.__module__])
    schemas = [json.dumps(each.model_json_schema()) for each in (question.row, question.summary)]
    texts = [question.doc, JOINED.sub("", source), *schemas]
    claims = {int(each) for each in CLAIM.findall(" ".join(" ".join(texts).split()))}
    name = question.subject.rpartition("/")[2]
    measured = [each for each in measured_levels().values() if each.question == SAME.get(name, name)]
    assert claims <= {each.percent for each in measured if each.level is not None}


def test_statements_without_a_level_say_how_often_they_held() -> None:
    outside = measured_levels()["critical-batch-size outside"]
    worst = min(100 * hits / n for hits, n in outside.trials.values())
    assert measured("critical-batch-size outside") == f"{int(worst)}%"
    with pytest.raises(KeyError, match="nothing"):
        measured("nothing")


@pytest.mark.parametrize("folder", ["losslake/figures", "cli/losslake_cli", "service/losslake_service/web"])
def test_pages_charts_and_reports_take_their_levels_from_the_measured_ones(folder: str) -> None:
    paths = [
        path
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".html", ".js", ".md", ".toml") and "vendor" not in path.parts
    ]
    assert len(paths) > 20
    texts = {path: " ".join(JOINED.sub("", path.read_text("utf-8")).split()) for path in paths}
    assert {path: claim for path, text in texts.items() if (claim := CLAIM.findall(text))} == {}
