"""The notebooks of docs/notebooks run as they stand, on the data that they ask for."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.bundled import ARCHIVE
from tests.repository.checkout import ROOT

pytestmark = pytest.mark.slow

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
BUNDLES = sorted((ROOT / "published" / "mlperf-training").glob("*.tar"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notebooks")
    lake = Lake.create(folder / "lake")
    for source in (ARCHIVE, *BUNDLES):
        ingest(lake, [source])
    return folder


def test_there_are_four() -> None:
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_its_first_cell_to_its_last(
    folder: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOSSLAKE_LAKE", str(folder / "lake"))
    notebook = nbformat.read(path, 4)  # type: ignore[no-untyped-call]
    stored = [cell for cell in notebook.cells if cell.cell_type == "code"]
    kinds = [[output.output_type for output in cell.outputs] for cell in stored]
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    # What is stored beside each cell is what it shows, but for release numbers.
    assert [[output.output_type for output in cell.outputs] for cell in stored] == kinds
