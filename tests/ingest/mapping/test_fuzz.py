"""A mapping and the files beside a log may come from strangers: whatever they say, a reading or one line."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.rules import BadMapping, Refusal
from losslake_ingest.contracts.run_log import LoggedRows, RunLog, Scalar
from losslake_ingest.mapping.mapping import parse_mapping
from losslake_ingest.mapping.place import PlacedRun, place
from losslake_ingest.readers.side_files import MOST_FIELDS, fields_in

QUICK = settings(suppress_health_check=list(HealthCheck))
LONG = settings(QUICK, max_examples=25_000)
RUN = RunLog(
    "a/b8/run.csv",
    {"a/b8/run.csv": "0" * 64},
    [LoggedRows({"step": np.array([0.0, 1.0]), "epoch": np.array([0.5, 1e300]), "val/loss": np.array([np.nan, 1.0])})],
    fields={"batch_size": 8, "name": "x" * 300, "n": 1e-300, "s": "{name}"},
)
text = st.sampled_from(
    [
        '"a"',
        '"{batch_size}"',
        '"{s|n}"',
        '"{unsaid}"',
        '"{"',
        "8",
        "-1",
        "1e400",
        "true",
        '""',
        '"../.."',
        '"val/*"',
        '"*"',
    ]
)
KEYS = (
    "name dataset model optimizer batch_size trial_id status column counts epoch_size metric target source wall_time "
    'elapsed_s "val/*" licence file keys patterns'
)
HEADINGS = (
    "[collection] [run] [path] [files] [[lookup]] [fields] [parameters] [metrics] [status] [[axis]] [time] [[goal]] [x]"
)
key = st.sampled_from(KEYS.split())
heading = st.sampled_from(HEADINGS.split())
line = st.one_of(heading, st.builds("{} = {}".format, key, text), st.just('patterns = ["{m}/b{n:int}/*"]'))
GOOD = '[collection]\nname="c"\n[run]\ndataset="d"\nmodel="m"\noptimizer="o"\n[[axis]]\ncolumn="step"\n'
documents = st.lists(line, max_size=12).map("\n".join) | st.lists(line, max_size=8).map(lambda e: GOOD + "\n".join(e))
bytes_beside = st.binary(max_size=60) | st.text("{}[]:,&*!-\n \"'ab1", max_size=60).map(str.encode)


def read(beside: bytes, name: str) -> dict[str, Scalar]:
    try:
        return fields_in(beside, name)
    except ValueError:
        return {}


def check(document: str, beside: bytes) -> None:
    assert len(read(beside, "a.yaml")) <= MOST_FIELDS
    assert len(read(beside, "a.json")) <= MOST_FIELDS
    try:
        mapping = parse_mapping(document.encode(), "m.toml", lambda _: beside)
        placed = place(RUN, mapping, "home/runs", read(beside, "a.yaml"))
    except BadMapping as error:
        assert "\n" not in str(error)  # noqa: PT017
    except Refusal as refusal:
        assert "\n" not in refusal.message  # noqa: PT017
    else:
        assert isinstance(placed, PlacedRun)
        assert placed.study.batch_size > 0
        assert (np.diff(placed.curve.steps) > 0).all()


@QUICK
@given(documents, bytes_beside)
def test_any_mapping_places_a_run_or_says_why_not(document: str, beside: bytes) -> None:
    check(document, beside)


@pytest.mark.fuzz
@LONG
@given(documents, bytes_beside)
def test_many_mappings_place_a_run_or_say_why_not(document: str, beside: bytes) -> None:
    check(document, beside)
