"""Paths of workloads, studies and trials are parsed from the right, since a collection may contain slashes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_schema.errors import BadName
from losslake_schema.names import Study, Trial, Workload, name_problem, natural_number, real_number

part = st.text(st.characters(exclude_characters="/", exclude_categories=["Cs"]), min_size=1)


@given(st.lists(part, min_size=1, max_size=3), part, part, part, st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_a_trial_path_parses_to_the_same_trial(
    collection: list[str], dataset: str, model: str, optimizer: str, batch_size: int, trial_id: int
) -> None:
    trial = Trial(Study(Workload("/".join(collection), dataset, model, optimizer), batch_size), trial_id)
    assert Trial.parse(str(trial)) == trial
    assert Study.parse(str(trial.study)) == trial.study
    assert Workload.parse(str(trial.study.workload)) == trial.study.workload


@pytest.mark.parametrize("path", ["", "a", "a/b/c", "a//b/c", "a/b/c/"])
def test_a_workload_needs_four_parts(path: str) -> None:
    with pytest.raises(BadName, match="give collection/dataset/model/optimizer"):
        Workload.parse(path)


@pytest.mark.parametrize(
    "path", ["a/b/c/d/x", "a/b/c/d/-1", "a/b/c/d/1.0", "a/b/c/d/²", "a/b/c/d/99999999999999999999"]
)
def test_a_study_ends_in_a_batch_size(path: str) -> None:
    with pytest.raises(BadName, match="is not a study"):
        Study.parse(path)


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("007", 7), ("9223372036854775807", 2**63 - 1)])
def test_natural_numbers_are_plain_digits(text: str, value: int) -> None:
    assert natural_number(text) == value


@pytest.mark.parametrize("text", ["", "-0", "+1", "1e3", "1_0", "٣", " 1", "9223372036854775808"])
def test_anything_else_is_not_a_natural_number(text: str) -> None:
    assert natural_number(text) is None


def test_every_part_of_a_partition_folder_is_encoded() -> None:
    study = Study(Workload("a/b", "c d", "=%", "..e"), 8)
    assert study.folder() == "collection=a%2Fb/dataset=c%20d/model=%3D%25/optimizer=..e/batch_size=8"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "a\nb", "a\x1bb", "x" * 201])
def test_invalid_names_have_a_reason(name: str) -> None:
    assert name_problem(name)


@pytest.mark.parametrize(
    ("text", "number"),
    [("1e-3", 0.001), (b" 2.5", 2.5), ("-Infinity", -math.inf), ("1_000", None), (b"1_0", None), ("", None)],
)
def test_a_number_is_what_every_language_takes_for_one(text: str | bytes, number: float | None) -> None:
    assert real_number(text) == number
