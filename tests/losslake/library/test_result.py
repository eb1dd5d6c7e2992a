"""What can be made of a result: tables, figures, citations, and texts for notebooks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import losslake
from losslake.library.lake import Lake
from losslake.library.result import Figure
from losslake_schema.errors import LossLakeError

WORKLOAD = "bundled/digits/mlp_64/nesterov_momentum"


def test_importing_the_library_imports_nothing_else() -> None:
    code = "import losslake, sys; print([m for m in sys.modules if m.split('.')[0] in ('losslake', 'pyarrow')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "['losslake']\n"


def test_a_client_needs_no_library_that_answers_questions() -> None:
    code = """
import sys
banned = ("duckdb", "polars", "scipy", "sqlalchemy", "pyiceberg", "vl_convert", "fastapi", "pandas")
import losslake
losslake.open("http://127.0.0.1:9")
print([name for name in banned if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_every_reader_of_arrow_reads_a_result(folder: Lake) -> None:
    curve = folder.scaling(WORKLOAD)
    table = curve.to_arrow()
    assert pa.table(curve).equals(table)
    assert pl.DataFrame(curve).equals(curve.to_polars())
    assert duckdb.execute("SELECT count(*) FROM curve").fetchall() == [(len(curve),)]
    assert curve.to_pandas()["steps"].tolist() == table["steps"].to_pylist()
    assert curve.to_dicts() == table.to_pylist()
    assert curve.columns == table.column_names


def test_a_result_says_what_it_is_and_what_it_leaves_out(folder: Lake) -> None:
    curve = folder.scaling(WORKLOAD)
    assert (curve.facts["metric"], curve.facts["target"], curve.release) == ("val/classification_error", 0.035, 1)
    assert repr(curve).startswith("</v1/scaling of ")
    cost = folder.time_cost(WORKLOAD, target=0.0)
    assert any(text.startswith("left out: ") for text in cost.warnings)
    for text in cost.warnings:
        assert text in repr(cost)
    page = curve._repr_html_()
    assert "<th>batch_size</th>" in page
    assert "<script" not in folder.sql("SELECT '<script>' AS \"<script>\"")._repr_html_()


def test_a_release_that_is_named_is_asked(folder: Lake) -> None:
    assert repr(folder.release(1)).endswith(", release 1>")
    assert folder.release(1).scaling(WORKLOAD).release == 1
    with pytest.raises(LossLakeError, match="release"):
        folder.release(99).scaling(WORKLOAD)


def test_an_analysis_of_a_curve_is_about_the_same_selection(folder: Lake) -> None:
    curve = folder.scaling(WORKLOAD, target=0.05, trials=20)
    found = curve.critical_batch_size()
    assert (found.facts["target"], found.facts["trials"]) == (0.05, 20)
    assert curve.regimes(max_useful_tau=0.3).facts["max_useful_tau"] == 0.3


def test_data_are_cited_as_of_their_release(folder: Lake) -> None:
    curve = folder.scaling(WORKLOAD)
    assert "bundled@1" in curve.cite()
    assert curve.bibtex().startswith("@")
    assert folder.curves(trial=f"{WORKLOAD}/64/1").cite() == curve.cite()


@pytest.mark.parametrize("ending", ["svg", "png", "pdf", "vl.json"])
def test_a_figure_is_saved_in_the_format_of_its_name(folder: Lake, tmp_path: Path, ending: str) -> None:
    figure = folder.scaling(WORKLOAD).plot()
    figure.save(tmp_path / f"figure.{ending}")
    start = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "vl.json": b"{"}[ending]
    assert (tmp_path / f"figure.{ending}").read_bytes().startswith(start)


def test_a_figure_without_a_known_ending_is_refused(folder: Lake, tmp_path: Path) -> None:
    figure = folder.scaling(WORKLOAD).plot()
    assert isinstance(figure, Figure)
    assert figure._repr_svg_() == figure.svg()
    assert json.dumps(figure.vega_lite())
    with pytest.raises(LossLakeError, match="none of the endings"):
        figure.save(tmp_path / "figure.bmp")


def test_an_empty_text_is_not_taken_for_the_default_lake() -> None:
    with pytest.raises(LossLakeError, match="names no lake"):
        losslake.open(" ")


def test_the_default_lake_is_that_of_the_environment(folder: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOSSLAKE_LAKE", repr(folder).split()[1].rstrip(","))
    assert losslake.open().scaling(WORKLOAD).release == 1
    monkeypatch.setenv("LOSSLAKE_LAKE", "/nowhere")
    with pytest.raises(losslake.LossLakeError, match="there is no lake"):
        losslake.open()


def test_a_statement_without_a_result_is_refused(folder: Lake) -> None:
    with pytest.raises(LossLakeError, match="only statements with a result run here"):
        folder.sql("SET threads = 1")
