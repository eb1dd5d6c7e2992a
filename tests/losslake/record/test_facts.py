from __future__ import annotations

from typing import Any

import pytest

from losslake.record.facts import facts

OTHERS: dict[str, Any] = {"workload": "a/b/c/d", "batch_unit": "examples", "parameters": {}, "licence": None}
OTHERS |= {"goals": (), "notes": None}
NO_SIZE: list[Any] = [0, True, "64", 5.0, None, []]
NO_PIECE: list[Any] = [5, (9, 8.5), (9, 0), (True, 8), (9,)]


@pytest.mark.parametrize(
    ("stated", "recorded"),
    [
        (64, {"batch_size": 64}),
        ([(0, 64), (1000, 128)], {"batch_schedule": [[0, 64], [1000, 128]]}),
        (((0, 64), [5, 64]), {"batch_size": 64}),
    ],
)
def test_a_batch_size_is_recorded_as_a_number_or_by_step(stated: Any, recorded: dict[str, Any]) -> None:
    document = facts(batch_size=stated, **OTHERS)
    assert {name: value for name, value in document.items() if name in ("batch_size", "batch_schedule")} == recorded


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        *((wrong, "give a whole number from 1, or pairs of a step, from 0") for wrong in NO_SIZE),
        *(([(0, 64), wrong], "give a whole number from 1, or pairs") for wrong in NO_PIECE),
        ([(1, 64)], "give a whole number from 1, or pairs of a step, from 0"),
        ([(0, 64), (9, 8), (5, 4)], "the step 5 doesn't follow 9: sort the pairs"),
        ([(0, 64), (2**53, 8)], "doesn't follow 0"),
    ],
)
def test_a_wrong_batch_size_is_refused_with_what_to_give(stated: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says) as refused:
        facts(batch_size=stated, **OTHERS)
    assert "\n" not in str(refused.value)
