"""Pages say where learning rates decay, and how many trials reached the end of their schedules."""

from __future__ import annotations

import numpy as np
import pytest

from losslake.index.records import Trials
from losslake_schema.reached import NEVER
from losslake_service.web.studies.schedule import schedule_in_words


def trials_of(*schedules: tuple[int, int, int]) -> Trials:
    """Trials with these starts of decay, ends, and last steps."""
    start, end, last = (np.array(column, np.int64) for column in zip(*schedules, strict=True))
    zeros = np.zeros(len(start), np.int64)
    return Trials(np.arange(len(start)), zeros, last, zeros, zeros, zeros, zeros, start, end)


@pytest.mark.parametrize(
    ("schedules", "words"),
    [
        ([(NEVER, NEVER, 90)], ""),
        ([(NEVER, NEVER, 90), (NEVER, NEVER, 90)], ""),
        ([(50, NEVER, 90)], "decays from step 50, its end isn't known"),
        ([(NEVER, 90, 90)], "its schedule ends at step 90; evaluated at that end or later"),
        ([(5000, 9000, 8999)], "decays from step 5,000 to step 9,000; not evaluated at that end"),
        (
            [(50, 90, 90), (60, 90, 80), (60, 100, 120)],
            "decays from steps 50 to 60 to steps 90 to 100; 2 trials of 3 evaluated at that end or later",
        ),
        (
            [(50, 90, 90), (NEVER, NEVER, 80)],
            "decays from step 50 to step 90; 1 trial of 2, 1 of which have a known end, evaluated at that end or later",
        ),
    ],
)
def test_the_words_of_schedules(schedules: list[tuple[int, int, int]], words: str) -> None:
    assert schedule_in_words(trials_of(*schedules)) == words
