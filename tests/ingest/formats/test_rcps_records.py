"""Reading rcps_*.json: what MLPerf wrote is read, everything else is refused in one line."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_ingest.formats.rcps import reference_runs


def record(**changes: Any) -> dict[str, Any]:
    return {"Benchmark": "resnet", "BS": 64, "Hyperparams": {}, "Epochs to converge": [34, 35.5]} | changes


def text(**records: Any) -> bytes:
    return json.dumps(records).encode()


def test_runs_come_by_ascending_batch_size() -> None:
    small, large = reference_runs(text(b=record(BS=128), a=record()))
    assert (small.benchmark, small.unit, small.batch_size, large.batch_size) == ("resnet", "epochs", 64, 128)
    assert small.runs == [34, 35.5]


def test_samples_are_read_as_examples() -> None:
    given = record()
    given["samples to converge"] = given.pop("Epochs to converge")
    assert reference_runs(text(a=given))[0].unit == "samples"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (b"", "invalid JSON at line 1"),
        (b"{'a': 1}", "invalid JSON at line 1"),
        (b"\xff\xfe\x00", "UTF-8|UTF-16|no JSON|codec"),
        (b"[]", "not an object"),
        (b"{}", "not an object with one record"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b'{"a": {"BS": -Infinity}}', "-Infinity is not a JSON number"),
        (b'{"a": 1, "a": 2}', "'a' is there twice, with different values"),
        (text(a=[]), "record 'a': it is not an object"),
        (text(a=record(Benchmark=None)), "'Benchmark' has to be a name"),
        (text(a=record(BS="64")), "'BS' has to be a whole number"),
        (text(a=record(BS=True)), "'BS' has to be a whole number"),
        (text(a=record(BS=64.0)), "'BS' has to be a whole number"),
        (text(a=record(BS=0)), "'BS' has to be a whole number"),
        (text(a={"Benchmark": "resnet", "BS": 64}), "one of 'Epochs to converge' and 'samples to converge'"),
        (text(a=record(**{"samples to converge": [1]})), "one of 'Epochs to converge' and 'samples to converge'"),
        (text(a=record(**{"Epochs to converge": []})), "one run or more"),
        (text(a=record(**{"Epochs to converge": {"1": 2}})), "one run or more"),
        (text(a=record(**{"Epochs to converge": [1, "2"]})), "finite number above 0"),
        (text(a=record(**{"Epochs to converge": [1, 0]})), "finite number above 0"),
        (text(a=record(**{"Epochs to converge": [True]})), "finite number above 0"),
        (text(a=record(**{"Epochs to converge": [10**400]})), "finite number above 0"),
        (b'{"a": {"Benchmark": "b", "BS": 1, "Epochs to converge": [1e999]}}', "finite number above 0"),
        (text(a=record(), b=record()), "record 'b': batch size 64 is in another record already"),
        (text(a=record(), b=record(BS=2, Benchmark="bert")), "it has 2 benchmarks"),
        (b" " * 10_000_001, "larger than 10,000,000 bytes"),
    ],
)
def test_other_contents_are_refused_in_one_line_that_names_the_file(given: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        reference_runs(given, "rcps_resnet.json")
    assert str(caught.value).startswith("rcps_resnet.json: ")
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda written: json.dumps({written: record()}).encode()))
def test_nothing_else_than_a_one_line_value_error_is_raised(given: bytes) -> None:
    with suppress(ValueError):
        reference_runs(given)
        return
    with pytest.raises(ValueError, match=r"^the file: ") as caught:
        reference_runs(given)
    assert "\n" not in str(caught.value)
