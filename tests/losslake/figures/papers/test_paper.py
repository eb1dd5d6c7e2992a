"""The data file of a paper: its keys, its errors, and the bundled files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from losslake.figures.papers.paper import Choices, paper, papers, read_paper
from losslake.questions.release.errors import UnknownName

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


def test_every_figure_of_the_main_section_is_defined() -> None:
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
def test_every_bundled_paper_is_valid(name: str) -> None:
    bundled = paper(name)
    assert bundled.name == name
    assert all(figure.panels for figure in bundled.figures)


def test_nested_keys_override_outer_ones() -> None:
    minimal = read_paper(
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
    first, second = minimal.figures[0].panels[0].curves
    assert (first.goal, first.trials, str(first.workload)) == (2, 50, "shelf/d/m/o")
    assert (second.goal, second.trials, str(second.workload)) == (3, 100, "shelf/sub/d/m/o")


def test_list_expands_to_one_series_each() -> None:
    text = HEAD + 'kind = "best-value"\nmetric = "val/loss"\nworkload = "d/m/o"\n'
    panel = 'panel = [{ title = "A", thousand_steps = [0.5, 2], label = "{steps:g} or {thousand_steps:g}k" }]'
    (expanded,) = read_paper(text + panel).figures[0].panels
    assert [(curve.label, curve.step_budget) for curve in expanded.curves] == [
        ("500 or 0.5k", 500),
        ("2000 or 2k", 2000),
    ]


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ('panel = [{ title = "A", workload = "d/m/o", metric = "m", goal = 1 }]', "panel 'A' has no 'kind'"),
        ('kind = "steps-to-result"\npanel = [{ title = "A", workload = "d/m/o", metric = "m" }]', "has no 'goal'"),
        ('kind = "best-value"\npanel = [{ title = "A", workload = "d/m/o" }]', "has no 'metric'"),
        ('kind = "best-value"\npanel = [{ title = "A", metric = "m" }]', "has no 'workload'"),
        (
            'kind = "best-value"\npanel = [{ title = "A", workload = "d/m/o", metric = "m", epochs = [1] }]',
            "has no 'training_set'",
        ),
        (
            'kind = "best-value"\npanel = [{ title = "A", workload = "d/m/o", metric = "m", perfect_scaling = "x" }]',
            "perfect_scaling = 'x' is not the label of any",
        ),
    ],
)
def test_missing_key_is_named_with_its_place(lines: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read_paper(HEAD + lines)


def test_unknown_key_is_refused() -> None:
    with pytest.raises(ValidationError, match="colour"):
        read_paper(HEAD + 'panel = [{ title = "A", colour = "red" }]')


def test_limit_may_be_a_power() -> None:
    limits = Choices.model_validate({"x_limits": ["2^-0.5", "10^4.5"], "y_limits": [0, "2"]})
    assert limits.x_limits == (2**-0.5, 10**4.5)
    assert limits.y_limits == (0.0, 2.0)


@pytest.mark.parametrize(("wrong", "near"), [("9", "9a"), ("12", "1"), ("figure 3", "3")])
def test_unknown_figure_suggests_similar_ones(wrong: str, near: str) -> None:
    with pytest.raises(UnknownName, match=f"has no figure '{wrong}'") as raised:
        paper("shallue2018").figure(wrong)
    assert near in raised.value.near_matches


def test_unknown_paper_suggests_similar_ones() -> None:
    with pytest.raises(UnknownName, match="did you mean shallue2018") as raised:
        paper("shallue2019")
    assert raised.value.near_matches[0] == "shallue2018"


def test_every_key_is_documented_and_the_example_is_valid() -> None:
    table = DOCUMENTS[DOCUMENTS.index("| key |") :]
    assert [key for key in Choices.model_fields if f"`{key}`" not in table] == []
    (example,) = re.findall(r"```toml\n(.*?)```", DOCUMENTS, re.DOTALL)
    assert [curve.label for curve in read_paper(example).figures[0].panels[0].curves] == ["SGD", "Nesterov Momentum"]
