"""A study's CSV files become curves bit for bit; a faulty file is named with rule and line and harms no other."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_ingest.contracts.rules import Rule
from losslake_ingest.readers.tables.csv_curves import read_curves

HEADER = b"step,val/cross_entropy_error,val/classification_error\n"
GOOD = HEADER + b"0,1.5,0.5\n10,1.25,0.25\n"


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


any_float = st.floats(width=64)
fraction = st.floats(0, 1) | st.sampled_from([-0.0, math.nan, math.inf, -math.inf])
curve = st.lists(st.tuples(any_float, fraction), max_size=8)


@given(st.lists(curve, min_size=1, max_size=6), st.booleans(), st.booleans())
def test_every_float64_is_exactly_what_the_text_says(
    trials: list[list[tuple[float, float]]], crlf: bool, ends_in_newline: bool
) -> None:
    end = "\r\n" if crlf else "\n"
    texts = []
    for rows in trials:
        lines = [HEADER.decode().strip(), *(f"{step},{a!r},{b!r}" for step, (a, b) in enumerate(rows))]
        texts.append((end.join(lines) + (end if ends_in_newline or not rows else "")).encode())
    curves, good, faults = read_curves(texts)
    assert not faults
    assert good == list(range(len(trials)))
    for row, rows in enumerate(trials):
        start, stop = curves.offsets[row], curves.offsets[row + 1]
        assert curves.steps[start:stop].tolist() == list(range(len(rows)))
        for metric, at in (("val/cross_entropy_error", 0), ("val/classification_error", 1)):
            read = curves.values[metric][start:stop]
            for value, pair in zip(read, rows, strict=True):
                expected = pair[at]
                assert bits(value) == bits(expected) or (math.isnan(value) and math.isnan(expected))


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [
        (b"", Rule.EMPTY_FILE, 1),
        (b"\n1,2,3\n", Rule.EMPTY_FILE, 1),
        (b"iteration,val/x\n1,2\n", Rule.BAD_HEADER, 1),
        (b"step,loss\n1,2\n", Rule.BAD_HEADER, 1),
        (b"step\n1\n", Rule.BAD_HEADER, 1),
        (b"step,val/x,val/x\n1,2,3\n", Rule.BAD_HEADER, 1),
        (b"\xff\xfe,step\n", Rule.BAD_HEADER, 1),
        (b"1" * 100_000, Rule.BAD_HEADER, 1),
        (b"step,val/cross_entropy_error\n0,1\n", Rule.COLUMNS_DIFFER, 1),
        (HEADER.replace(b"\n", b",val/loss\n") + b"0,1,2,3\n", Rule.COLUMNS_DIFFER, 1),
        (HEADER + b"0,1,2\n1,2\n", Rule.WRONG_CELL_COUNT, 3),
        (HEADER + b"0,1,2\n1,2,3,4\n", Rule.WRONG_CELL_COUNT, 3),
        (HEADER + b"0,1,2\n\n2,1,2\n", Rule.BLANK_LINE, 3),
        (HEADER + b"0,1,0.5\n1,1,2\n2,1,50\n", Rule.OUT_OF_RANGE, 3),
        (HEADER + b"0,1,-0.1\n", Rule.OUT_OF_RANGE, 2),
        (HEADER + b"0,1,2\n1,abc,2\n", Rule.NOT_A_NUMBER, 3),
        (HEADER + b"0,1,2\n1,1_0,2\n", Rule.NOT_A_NUMBER, 3),
        (HEADER + b"0,1,2\n1,0x10,2\n", Rule.NOT_A_NUMBER, 3),
        (HEADER + b"0,1,2\n,1,2\n", Rule.BAD_STEP, 3),
        (HEADER + b"0,1,2\n1.5,1,2\n", Rule.BAD_STEP, 3),
        (HEADER + b"0,1,2\n9223372036854775808,1,2\n", Rule.BAD_STEP, 3),
        (HEADER + b"-1,1,2\n", Rule.NEGATIVE_STEP, 2),
        (HEADER + b"0,1,2\n5,1,2\n5,1,2\n", Rule.STEPS_NOT_ASCENDING, 4),
        (HEADER + b"0,1,2\n5,1,2\n4,1,2\n", Rule.STEPS_NOT_ASCENDING, 4),
        (HEADER + b'0,"1,2\n1,2,3\n', Rule.WRONG_CELL_COUNT, 2),
        (HEADER + b"0,1,2\r1,2,3\r", Rule.WRONG_CELL_COUNT, 2),
        (HEADER + b"0,1,2\n1,\xff,2\n", Rule.WRONG_CELL_COUNT, 3),
    ],
)
def test_a_faulty_file_is_named_by_rule_and_line_and_the_others_are_kept(text: bytes, rule: Rule, line: int) -> None:
    curves, good, faults = read_curves([GOOD, text, GOOD])
    assert (faults[1].rule, faults[1].line) == (rule, line)
    assert good == [0, 2]
    assert curves.steps.tolist() == [0, 10, 0, 10]
    assert curves.values["val/classification_error"].tolist() == [0.5, 0.25, 0.5, 0.25]
    assert len(faults[1].message) < 300


def test_nan_and_infinities_are_kept() -> None:
    curves, _, faults = read_curves([HEADER + b"0,nan,NaN\n1,inf,-inf\n2,Infinity,-nan\n"])
    assert not faults
    assert np.isnan(curves.values["val/classification_error"]).tolist() == [True, False, True]
    assert curves.values["val/cross_entropy_error"].tolist()[1:] == [math.inf, math.inf]


def test_an_empty_cell_is_a_metric_not_measured_there() -> None:
    curves, _, faults = read_curves([GOOD, HEADER + b"0,,0.5\n1,2,\n"])
    assert not faults
    assert curves.missing["val/cross_entropy_error"].tolist() == [False, False, True, False]
    assert curves.missing["val/classification_error"].tolist() == [False, False, False, True]


def test_a_value_beyond_the_range_of_its_metric_is_refused_with_the_range() -> None:
    _, good, faults = read_curves([HEADER + b"0,1,1.0000001\n", HEADER + b"0,1,0.5\n1,1,25.5\n"])
    assert good == [0]
    why = "val/classification_error is 25.5, and val/classification_error lies between 0 and 1: correct it"
    assert faults[1].message == f"{why} (unit: fraction)"


def test_a_trial_is_refused_where_no_value_is_one_that_its_best_can_be() -> None:
    texts = ["0,14.5\n1,0.5", "0,14.5\n1,1.5\n2,nan", "0,inf", "", "0,-0.5\n1,0.5", "0,\n1,2"]
    _, good, faults = read_curves([f"step,val/word_error_rate\n{text}\n".encode() for text in texts])
    assert good == [0, 2, 3]
    assert {position: fault.line for position, fault in faults.items()} == {1: 2, 4: 2, 5: 3}


def test_all_trials_are_refused_where_no_columns_are_those_of_most() -> None:
    other = HEADER.replace(b"val/classification_error", b"vel/classification_error") + b"0,1,2\n"
    _, good, faults = read_curves([GOOD, other])
    assert good == []
    assert {fault.rule for fault in faults.values()} == {Rule.COLUMNS_DIFFER}
    assert "val/classification_error, vel/classification_error" in faults[1].message
    assert read_curves([GOOD, other, GOOD])[1] == [0, 2]


def test_the_order_of_columns_is_free() -> None:
    curves, good, _ = read_curves(
        [GOOD, b'"val/classification_error","step","val/cross_entropy_error"\n0.125,7,3\n', GOOD]
    )
    assert good == [0, 1, 2]
    assert curves.steps.tolist() == [0, 10, 7, 0, 10]
    assert curves.values["val/classification_error"].tolist() == [0.5, 0.25, 0.125, 0.5, 0.25]


def test_a_quote_or_lone_carriage_return_can_not_move_rows_into_another_trial() -> None:
    tricky = HEADER + b'0,1,"2\n1,2,3"\r5,6,7\n'
    curves, good, faults = read_curves([GOOD, tricky, GOOD])
    assert good == [0, 2]
    assert set(faults) == {1}
    assert curves.offsets.tolist() == [0, 2, 4]


def test_a_trial_without_rows_has_an_empty_curve() -> None:
    curves, good, faults = read_curves([HEADER, GOOD, HEADER.strip()])
    assert (good, faults) == ([0, 1, 2], {})
    assert curves.offsets.tolist() == [0, 0, 2, 2]
