from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_ingest.contracts.run_log import LoggedRows
from losslake_ingest.readers.wandb_files.history import HistoryTable
from losslake_ingest.readers.wandb_files.step_metrics import SEVERAL, rows_by_axis, step_metrics

EPOCH, GLOBAL, VAL = {"1": "epoch"}, {"1": "gs"}, {"2": "val/*", "5": 1}


@pytest.mark.parametrize(
    ("name", "records", "steps"),
    [
        ("val/loss", [EPOCH, VAL], ["epoch"]),
        ("train/loss", [EPOCH, VAL], []),
        ("val/loss", [EPOCH, VAL, {"1": "val/loss", "7": [2]}], []),
        ("val/loss", [EPOCH, VAL, {"1": "val/loss", "4": "gs"}], ["gs"]),
        ("epoch", [EPOCH, {"2": "*", "5": 1}], []),
        ("loss", [EPOCH, {"2": "*", "4": "_step"}], []),
        ("val/loss", [EPOCH, VAL, GLOBAL, {"2": "*", "5": 3}], ["epoch", "gs"]),
        ("val/loss", [EPOCH, VAL, {"2": "v*", "5": 1}], ["epoch"]),
        ("val/loss", [{"2": "val/*", "5": 9}, {"2": "val/loss"}, {"2": 3}, {"1": "val/loss", "4": 7}], []),
    ],
)
def test_a_definition_by_name_precedes_those_by_pattern(
    name: str, records: list[dict[str, Any]], steps: list[str]
) -> None:
    assert step_metrics(name, records) == steps


def rows_of(*rows: dict[str, float]) -> list[LoggedRows]:
    table = HistoryTable()
    table.add([dict(row) for row in rows])
    return table.rows()


def test_of_several_patterns_the_step_that_is_in_every_row_counts() -> None:
    defined = [EPOCH, VAL, GLOBAL, {"2": "*", "5": 3}]
    rows = rows_of({"_step": 0, "epoch": 1, "gs": 5}, {"_step": 1, "val/loss": 0.5, "gs": 6})
    parts = dict(rows_by_axis(rows, defined, Counter()))
    assert parts["gs"].columns["gs"].tolist() == [6]
    assert parts["gs"].columns["val/loss"].tolist() == [0.5]
    remarks: Counter[str] = Counter()
    both = rows_of({"_step": 0, "epoch": 1, "gs": 5, "val/loss": 0.5})
    assert "val/loss" not in {name for _, part in rows_by_axis(both, defined, remarks) for name in part.columns}
    assert remarks[SEVERAL] == 1


NAMES = ("epoch", "gs", "val/loss", "val/acc", "loss")
ROW = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 9).map(float), min_size=1)
RECORD = st.fixed_dictionaries(
    {},
    optional={
        "1": st.sampled_from(NAMES),
        "2": st.sampled_from(["val/*", "*"]),
        "4": st.sampled_from(NAMES),
        "5": st.integers(-1, 5),
    },
)


@given(st.lists(ROW, min_size=1, max_size=6), st.lists(RECORD, max_size=4))
def test_every_value_is_kept_once_with_the_axis_of_its_row(
    rows: list[dict[str, float]], defined: list[dict[str, Any]]
) -> None:
    written = [{"_step": float(at), **row} for at, row in enumerate(rows)]
    kept: dict[str, tuple[str, list[tuple[float | None, float]]]] = {}
    remarks: Counter[str] = Counter()
    for axis, part in rows_by_axis(rows_of(*written), defined, remarks):
        assert axis == "_step" or "_step" not in part.columns
        has_axis = part.known(axis) if axis in part.columns else np.zeros(len(next(iter(part.columns.values()))), bool)
        for name in part.columns.keys() - {axis, "_step"}:
            known = part.known(name)
            places = [part.columns[axis][at] if has_axis[at] else None for at in np.flatnonzero(known)]
            kept[name] = axis, list(zip(places, part.columns[name][known].tolist(), strict=True))
    for name in {name for row in rows for name in row}:
        steps = step_metrics(name, defined) or ["_step"]
        if len(steps) > 1:
            steps = [step for step in steps if all(step in row for row in written if name in row)]
        if len(steps) == 1:
            expected = [(row.get(steps[0]), row[name]) for row in written if name in row]
            assert kept[name] == (steps[0], expected)
