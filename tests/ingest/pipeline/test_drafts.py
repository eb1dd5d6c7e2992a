"""`losslake map --init` on logs of a format: the draft loads, and names what the log has."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake_ingest.mapping.mapping import load_mapping
from losslake_ingest.pipeline.mapping_draft import draft_mapping
from tests.ingest.made_up.documents import SACRED, TRACKIO
from tests.ingest.made_up.logs import METRICS, MadeUp, runs
from tests.ingest.made_up.texts import DVCLIVE, JSON_ARRAYS, JSON_ENTRIES, LONG
from tests.ingest.offers import unpacked


@pytest.mark.parametrize(
    "made", [JSON_ARRAYS, JSON_ENTRIES, LONG, DVCLIVE, SACRED, TRACKIO], ids=lambda made: str(made.name)
)
def test_a_draft_loads_and_names_the_metrics_and_the_step(tmp_path: Path, made: MadeUp) -> None:
    path = draft_mapping(unpacked(tmp_path, made.write(runs(made, 3, 2))))
    text = path.read_text()
    assert load_mapping(path).where == str(path)
    assert [name for name in METRICS if f'# {name} = ""' not in text] == []
    assert "is its column step, which counts steps" in text
