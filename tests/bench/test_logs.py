"""The synthetic logs of the benchmark of formats are stored whole, each run as a trial."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.formats import whole_ingest
from bench.logs import MAPPING, WRITERS
from losslake_ingest.mapping.mapping import MAPPING_NAME


@pytest.mark.parametrize("name", WRITERS)
def test_every_run_of_every_format_is_stored(name: str, tmp_path: Path) -> None:
    writer, _, _ = WRITERS[name]
    writer(tmp_path, 2, 60)
    (tmp_path / MAPPING_NAME).write_text(MAPPING.replace("FORMAT", name.partition(",")[0]))
    trials, _, _ = whole_ingest(tmp_path)
    assert trials == 2
