"""A paper's data file: what may be said in it, and what is said in those that come along."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from losslake.figures.papers.paper import Choices, paper, papers, read_paper
from losslake.questions.errors import UnknownName

DOCUMENTS = (Path(__file__).parents[4] / "docs" / "papers.md").read_text("utf-8")
HEAD = """
name = "small"
title = "Small"
authors = "Nobody"
published = "nowhere"
url = "https://example.org"
collection = "shelf"
[[figure]]
number = "1"
title = "One"
columns = 1
"""


def test_every_figure_of_the_main_section_is_there() -> None:
    assert [figure.number for figure in paper("shallue2018").figures] == [
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "7",
        "8",
        "9a",
        "9b",
        "10",
        "11",
    ]


@pytest.mark.parametrize("name", papers())
def test_every_paper_that_comes_along_can_be_read(name: str) -> None:
    found = paper(name)
    assert found.name == name
    assert all(figure.panels for figure in found.figures)


def test_what_is_nearer_wins() -> None:
    found = read_paper(
        HEAD
        + """
kind = "steps-to-result"
metric = "val/loss"
goal = 1
trials = 100
[[figure.panel]]
title = "A"
goal = 2
series = [{ label = "x", workload = "d/m/o", trials = 50 }, { label = "y", workload = "sub/d/m/o", goal = 3 }]
"""
    )
    first, second = found.figures[0].panels[0].curves
    assert (first.goal, first.trials, str(first.workload)) == (2, 50, "shelf/d/m/o")
    assert (second.goal, second.trials, str(second.workload)) == (3, 100, "shelf/sub/d/m/o")


def test_a_list_makes_a_series_of_each() -> None:
    text = HEAD + 'kind = "best-value"\nmetric = "val/loss"\nworkload = "d/m/o"\n'
    panel = 'panel = [{ title = "A", thousand_steps = [0.5, 2], label = "{steps:g} or {thousand_steps:g}k" }]'
    (found,) = read_paper(text + panel).figures[0].panels
    assert [(curve.label, curve.step_budget) for curve in found.curves] == [("500 or 0.5k", 500), ("2000 or 2k", 2000)]


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ('panel = [{ title = "A", workload = "d/m/o", metric = "m", goal = 1 }]', "panel 'A' lacks 'kind'"),
        ('kind = "steps-to-result"\npanel = [{ title = "A", workload = "d/m/o", metric = "m" }]', "lacks 'goal'"),
        ('kind = "best-value"\npanel = [{ title = "A", workload = "d/m/o" }]', "lacks 'metric'"),
        ('kind = "best-value"\npanel = [{ title = "A", metric = "m" }]', "lacks 'workload'"),
        (
            'kind = "best-value"\npanel = [{ title = "A", workload = "d/m/o", metric = "m", epochs = [1] }]',
            "lacks 'training_set'",
        ),
        (
            'kind = "best-value"\npanel = [{ title = "A", workload = "d/m/o", metric = "m", perfect_scaling = "x" }]',
            "perfect_scaling = 'x' is the label of none",
        ),
    ],
)
def test_what_is_missing_is_named_with_its_place(lines: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read_paper(HEAD + lines)


def test_a_key_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValidationError, match="colour"):
        read_paper(HEAD + 'panel = [{ title = "A", colour = "red" }]')


def test_a_limit_may_be_a_power() -> None:
    limits = Choices.model_validate({"x_limits": ["2^-0.5", "10^4.5"], "y_limits": [0, "2"]})
    assert limits.x_limits == (2**-0.5, 10**4.5)
    assert limits.y_limits == (0.0, 2.0)


@pytest.mark.parametrize(("wrong", "near"), [("9", "9a"), ("12", "1"), ("figure 3", "3")])
def test_an_unknown_figure_has_near_matches(wrong: str, near: str) -> None:
    with pytest.raises(UnknownName, match=f"has no figure '{wrong}'") as raised:
        paper("shallue2018").figure(wrong)
    assert near in raised.value.near_matches


def test_an_unknown_paper_has_near_matches() -> None:
    with pytest.raises(UnknownName, match="did you mean shallue2018") as raised:
        paper("shallue2019")
    assert raised.value.near_matches[0] == "shallue2018"


def test_every_key_is_documented_and_the_example_is_a_paper() -> None:
    table = DOCUMENTS[DOCUMENTS.index("| key |") :]
    assert [key for key in Choices.model_fields if f"`{key}`" not in table] == []
    (example,) = re.findall(r"```toml\n(.*?)```", DOCUMENTS, re.DOTALL)
    assert [curve.label for curve in read_paper(example).figures[0].panels[0].curves] == ["SGD", "Nesterov Momentum"]
