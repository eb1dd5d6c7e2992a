from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.run_log import Damage, RunLog
from losslake_ingest.formats.dvclive import FORMAT
from losslake_ingest.formats.format import Glimpse
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import plan_ingest
from tests.ingest.formats.reading import cells, read, runs
from tests.ingest.offers import tar_bytes, unpacked, written

FILES = {
    "a/dvclive/plots/metrics/train/loss.tsv": b"step\tloss\n0\t2.5\n1\t1.5\n",
    "a/dvclive/plots/metrics/val/loss.tsv": b"timestamp\tstep\tloss\n1700000000000\t1\t1.25\n",
    "a/dvclive/plots/metrics/lr.tsv": b"step\tlr\n0\t0.1\n",
    "b/plots/metrics/lr.tsv": b"step\tlr\n0\t0.2\n",
}


def test_all_metrics_of_a_folder_are_one_run_by_their_full_names(tmp_path: Path) -> None:
    a, b = runs(FORMAT, tmp_path, FILES)
    assert (a.run, b.run, len(a.files)) == ("a/dvclive", "b", 3)
    found = {name: cells(rows, name) for rows in a.rows for name in rows.columns if "/" in name}
    assert found == {"train/loss": [2.5, 1.5], "val/loss": [1.25]}


def test_a_cut_metric_is_damage_with_its_file(tmp_path: Path) -> None:
    path = "b/plots/metrics/lr.tsv"
    (run,) = runs(FORMAT, tmp_path, {path: FILES[path] + b"1"})
    assert [remark for remark in run.remarks if isinstance(remark, Damage)] == [
        f"the last line is cut short: left out (in {path})"
    ]


def test_a_column_of_another_name_is_refused(tmp_path: Path) -> None:
    (item,) = read(FORMAT, tmp_path, {"b/plots/metrics/lr.tsv": b"step\tlrs\n0\t0.2\n"})
    assert isinstance(item, Quarantined)
    assert (item.rule, "there is no column 'lr'" in item.message) == ("bad_header", True)


@pytest.mark.parametrize(
    ("path", "is_metric"),
    [
        ("plots/metrics/x.tsv", True),
        ("metrics/a/x.tsv", True),
        ("x.tsv", False),
        ("plots/metrics/x.csv", False),
        ("plots/x.tsv", False),
    ],
)
def test_detection_goes_by_path_and_header(path: str, is_metric: bool) -> None:
    assert (FORMAT.detect(Glimpse(path, b"step\tx\n0\t1\n")) > 0) == is_metric
    assert FORMAT.detect(Glimpse(path, b"epoch\tx\n0\t1\n")) == 0


def test_a_column_of_words_tells_rows_apart_and_a_metric_of_text_is_refused(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, {"b/plots/metrics/lr.tsv": b"phase\tstep\tlr\na\t0\t0.2\nb\t1\t0.1\n"})
    assert [(dict(rows.fields), cells(rows, "lr")) for rows in run.rows] == [
        ({"phase": "a"}, [0.2]),
        ({"phase": "b"}, [0.1]),
    ]
    item, *_ = read(FORMAT, tmp_path / "text", {"b/plots/metrics/lr.tsv": b"step\tlr\n0\toops\n"})
    assert isinstance(item, Quarantined)
    assert (item.rule, item.path) == ("not_a_number", "b/plots/metrics/lr.tsv")


MAPPING = '[collection]\nname = "c"\n[run]\ndataset = "d"\nmodel = "m"\noptimizer = "o"\nbatch_size = 8\n'
INSIDE = {"exp/plots/metrics/val/loss.tsv": b"step\tloss\n0\t0.5\n1\t0.25\n"}


@pytest.mark.parametrize("inner", ["plots/metrics", "plots/metrics/val", "plots/metrics/val/loss.tsv"])
def test_a_metric_read_without_its_folders_is_refused_with_the_folder_to_offer(tmp_path: Path, inner: str) -> None:
    exp = unpacked(tmp_path, INSIDE) / "exp"
    mapping = written(tmp_path / "map.toml", MAPPING.encode())
    plan = plan_ingest(None, [exp / inner], Request(mapping=mapping))
    (item,) = plan.quarantined
    assert (item.rule, plan.studies) == ("missing_fact", {})
    assert f"offer the folder {exp}, or add to the mapping: loss = " in item.message


def test_an_archive_of_metrics_without_their_folders_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "losslake.toml", MAPPING.encode())
    archive = written(tmp_path / "val.tar", tar_bytes({"val/loss.tsv": INSIDE["exp/plots/metrics/val/loss.tsv"]}))
    (item,) = plan_ingest(None, [archive], Request()).quarantined
    assert "offer the folder that holds plots/metrics/val/loss.tsv, or add" in item.message


def test_a_metric_without_its_folders_is_read_as_the_mapping_says(tmp_path: Path) -> None:
    folder = unpacked(tmp_path, INSIDE) / "exp/plots/metrics/val"
    mapping = written(tmp_path / "map.toml", f'{MAPPING}[metrics]\nloss = "val/loss"\n'.encode())
    (study,) = plan_ingest(None, [folder], Request(mapping=mapping)).studies.values()
    assert study.first_rows == [(1, 0, {"val/loss": 0.5}), (1, 1, {"val/loss": 0.25})]


def test_a_table_that_isnt_named_as_its_column_is_that_of_training(tmp_path: Path) -> None:
    folder = unpacked(tmp_path, {"losslake.toml": MAPPING.encode(), "run1.tsv": b"step\tloss\n0\t0.5\n"})
    (study,) = plan_ingest(None, [folder], Request()).studies.values()
    assert study.metrics == {"train/loss"}


cell = st.floats().map(repr) | st.integers().map(str) | st.sampled_from(["", "step", "loss", "nan", '"', "\r", "é"])
tables = st.lists(st.lists(cell, max_size=4).map("\t".join), max_size=6).map("\n".join)
metric_files = st.builds(
    lambda header, rows: (header + rows).encode(),
    st.sampled_from(["", "step\tloss\n", "timestamp\tstep\tloss\n", "step\tphase\tloss\n", "loss\tstep\n"]),
    tables,
)
offered = metric_files | st.binary(max_size=60)
QUICK = settings(suppress_health_check=list(HealthCheck))
LONG = settings(QUICK, max_examples=30_000)


def check(folder: Path, train: bytes, val: bytes, params: bytes) -> None:
    metrics = "live/plots/metrics"
    files = {f"{metrics}/loss.tsv": train, f"{metrics}/val/loss.tsv": val, "live/params.yaml": params}
    for item in read(FORMAT, folder / "dvclive", files):
        assert isinstance(item, (RunLog, Quarantined))


@QUICK
@given(offered, offered, st.binary(max_size=30))
def test_any_bytes_are_runs_or_quarantined(
    tmp_path_factory: pytest.TempPathFactory, train: bytes, val: bytes, params: bytes
) -> None:
    check(tmp_path_factory.getbasetemp(), train, val, params)


@pytest.mark.fuzz
@LONG
@given(offered, offered, st.binary(max_size=30))
def test_many_bytes_are_runs_or_quarantined(
    tmp_path_factory: pytest.TempPathFactory, train: bytes, val: bytes, params: bytes
) -> None:
    check(tmp_path_factory.getbasetemp(), train, val, params)
