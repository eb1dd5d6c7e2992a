"""A corrected study of an archive: one value of its best trial is better by one in its last digit.

The whole study lies in a folder of its own as it lay in the archive, so that it replaces what a lake holds of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import dropwhile, takewhile
from pathlib import Path

from bench.answers import expect
from bench.truth import StudyTruth
from losslake_ingest.sources.member import Member
from losslake_ingest.sources.open import open_source

NEAR_THE_START = 5


@dataclass(frozen=True)
class Correction:
    """A corrected study. folder: where it lies. was, truth: what was right of it, and what is from now on."""

    folder: Path
    was: StudyTruth
    truth: StudyTruth

    def applied_to(self, truths: Sequence[StudyTruth]) -> tuple[StudyTruth, ...]:
        """Return the truth of all studies after the correction."""
        return tuple(self.truth if truth.study == self.truth.study else truth for truth in truths)


def write_correction(archive: Path, truths: Sequence[StudyTruth], folder: Path) -> Correction:
    """Write a corrected study of average size."""
    truth = _middling(truths)
    value = _better(truth)
    for file in _files_of(archive, truth):
        data = file.data
        if file.path.endswith(f"/{truth.batch_size}/{truth.trial_id}/measurements.csv"):
            data = _with_value(data, truth, value)
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return Correction(folder, truth, replace(truth, value=float(value)))


def _middling(truths: Sequence[StudyTruth]) -> StudyTruth:
    """Return the study nearest to the mean size among the first ones, so that little has to be read before it."""
    mean = sum(truth.evaluations for truth in truths) / len(truths)
    near = truths[: -(-len(truths) // NEAR_THE_START)]
    return min(near, key=lambda truth: abs(truth.evaluations - mean))


def _files_of(archive: Path, truth: StudyTruth) -> Iterator[Member]:
    """Yield the files of a study, which are adjacent; the rest of the archive is not read."""
    folder = f"/{truth.workload.partition('/')[2]}/{truth.batch_size}/"

    def is_other(file: object) -> bool:
        return not (isinstance(file, Member) and folder in f"/{file.path}")

    members = dropwhile(is_other, open_source(archive).members(lambda _: True))
    for file in takewhile(lambda file: not is_other(file), members):
        assert isinstance(file, Member)
        yield file


def _better(truth: StudyTruth) -> str:
    """Return a value that is better by one in its last digit."""
    value = Decimal(repr(truth.value))
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    last_digit = Decimal((0, (1,), exponent))
    return str(value + last_digit if truth.value > truth.goal else value - last_digit)


def _with_value(data: bytes, truth: StudyTruth, value: str) -> bytes:
    """Return the CSV text with that value where the trial first reaches the goal."""
    lines = data.decode().splitlines()
    column = lines[0].split(",").index(truth.metric)
    (number,) = (at for at, line in enumerate(lines) if line.startswith(f"{truth.steps},"))
    cells = lines[number].split(",")
    expect(f"the value of {truth.study} in its text", float(cells[column]), truth.value)
    cells[column] = value
    lines[number] = ",".join(cells)
    return ("\n".join(lines) + "\n").encode()
