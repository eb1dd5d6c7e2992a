"""Logs of many print loops, ingested by following only what the command says, are what the loops printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingest.made_up.followed_drafts import refusal
from tests.ingest.made_up.print_loops import LOOPS, PrintLoop

REFUSED = {
    "XGBoost": "step_unknown",  # its step has no name
    "the last line of each epoch is in another form": "values_disagree",  # two columns are the loss of training
}

_EVERY = 3  # in make test; all loops take a quarter of a minute


def test_there_are_enough_loops_of_different_names() -> None:
    assert len({loop.name for loop in LOOPS}) == len(LOOPS) >= 30


@pytest.mark.parametrize(
    "loop",
    [
        pytest.param(loop, id=loop.name, marks=[] if at % _EVERY == 0 or loop.name in REFUSED else pytest.mark.slow)
        for at, loop in enumerate(LOOPS)
    ],
)
def test_a_log_is_stored_as_it_was_printed_or_refused(tmp_path: Path, loop: PrintLoop) -> None:
    assert refusal(loop, tmp_path) == REFUSED.get(loop.name)
