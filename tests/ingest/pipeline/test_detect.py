"""Telling the formats of a source: file by file, folder by folder the surest one."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.contracts.rules import UnknownFormat
from losslake_ingest.formats.format import formats
from losslake_ingest.pipeline.reading import detect
from losslake_ingest.run import ingest
from losslake_ingest.sources.open import open_source
from tests.ingest.offers import Files, TrialOffer, study_files, tar_bytes, unpacked, written

CSV = {"a/log.csv": b"step,loss\n1,2\n"}
MLLOG = {"b/result_0.txt": b':::MLLOG {"key": "run_start", "value": null}\n'}
ALGOPERF = {
    "c/wmt_jax/trial_1/measurements.csv": b"global_step,loss\n1,2\n",
    "c/wmt_jax/trial_1/other.csv": b"step,loss\n1,2\n",
}


def detected_files(tmp_path: Path, files: Files) -> dict[str, int]:
    source = open_source(unpacked(tmp_path / "logs", files))
    return dict(detect(source, list(formats().values()), lambda _: True).files)


def test_mixed_formats_are_detected_by_folder(tmp_path: Path) -> None:
    assert detected_files(tmp_path, CSV | MLLOG | {"d/e.bin": b"\0"}) == {"csv": 1, "mllog": 1}


def test_certain_format_gets_its_folder_exclusively(tmp_path: Path) -> None:
    assert detected_files(tmp_path, ALGOPERF) == {"algoperf": 1}


def test_published_layout_is_not_detected_as_tables(tmp_path: Path) -> None:
    assert detected_files(tmp_path, study_files({1: TrialOffer(), 2: TrialOffer()})) == {"batch_science": 5}


def test_each_format_gets_the_files_of_its_folders_and_those_below(tmp_path: Path) -> None:
    source = open_source(unpacked(tmp_path / "logs", CSV | MLLOG))
    detected = detect(source, list(formats().values()), lambda _: True)
    assert detected.belongs("csv")("a/log.csv")
    assert detected.belongs("csv")("a/deeper/more.csv")
    assert not detected.belongs("csv")("b/more.csv")
    assert detected.belongs("mllog")("unclaimed/file.txt")


def test_unrecognized_and_excluded_files_are_counted(tmp_path: Path) -> None:
    source = open_source(unpacked(tmp_path / "logs", CSV | MLLOG | {"readme.md": b"#"}))
    detected = detect(source, list(formats().values()), lambda path: not path.startswith("b/"))
    assert (detected.files, detected.others, detected.excluded) == ({"csv": 1}, 1, 1)


def test_unrecognized_files_with_the_ending_of_a_log_are_named(tmp_path: Path) -> None:
    files = CSV | {"a/odd.csv": b"no table", "b/other.csv": b"\0", "a/notes.md": b"#"}
    detected = detect(open_source(unpacked(tmp_path / "logs", files)), list(formats().values()), lambda _: True)
    assert (sorted(detected.unlike), detected.others) == (["a/odd.csv", "b/other.csv"], 3)


def test_first_files_of_an_archive_determine_its_formats(tmp_path: Path) -> None:
    files = {f"a/{number:04}.csv": b"step,loss\n1,2\n" for number in range(300)}
    source = open_source(written(tmp_path / "logs.tar", tar_bytes(files)))
    detected = detect(source, list(formats().values()), lambda _: True)
    assert (detected.files, detected.is_whole) == ({"csv": 200}, False)


def test_broken_archive_is_detected_up_to_the_break(tmp_path: Path) -> None:
    data = tar_bytes(CSV | MLLOG)
    source = open_source(written(tmp_path / "logs.tar", data[:1100]))
    detected = detect(source, list(formats().values()), lambda _: True)
    assert detected.files == {"csv": 1}
    assert detected.broken is not None


def test_a_format_of_another_package_that_cant_be_loaded_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        name, value, dist = "odd", "nowhere:FORMAT", None

        def load(self) -> object:
            raise ImportError("no module named nowhere")

    monkeypatch.setattr("losslake_ingest.formats.format.entry_points", lambda **_: [Point()])
    formats.cache_clear()
    try:
        with pytest.raises(UnknownFormat, match="the format 'odd' of nowhere:FORMAT can't be loaded"):
            formats()
    finally:
        formats.cache_clear()


def test_a_lookup_table_beside_the_mapping_is_no_log(tmp_path: Path) -> None:
    mapping = b"""
[collection]
name = "mine"
[run]
dataset = "d"
model = "m"
optimizer = "sgd"
[path]
patterns = ["{run}.csv"]
[[lookup]]
file = "sizes.csv"
keys = ["run"]
"""
    files = {"losslake.toml": mapping, "sizes.csv": b"run,batch_size\na,8\nb,16\n", "a.csv": b"step,val/loss\n0,1\n"}
    summary = ingest(Lake.create(tmp_path / "lake"), [unpacked(tmp_path / "logs", files)])
    assert (summary.trials_ingested, summary.quarantined) == (1, ())
    assert summary.sources[0].files == {"csv": 1}


def test_every_format_of_a_broken_archive_is_read_up_to_the_break(tmp_path: Path) -> None:
    csv = {"a/log.csv": b"step,val/loss\n0,1\n"}
    llmc = {"b/main.log": b"s:0 tel:3\ns:1 tel:2\n"}
    mapping = '[collection]\nname="c"\n[run]\ndataset="d"\nmodel="m"\noptimizer="o"\nbatch_size=8\n'
    (tmp_path / "losslake.toml").write_text(mapping)
    data = tar_bytes(csv | llmc | {"c/more.csv": b"step,val/loss\n0,1\n"})
    summary = ingest(Lake.create(tmp_path / "lake"), [written(tmp_path / "logs.tar", data[:2100])])
    assert (summary.trials_ingested, len(summary.broken)) == (2, 1)


@pytest.mark.parametrize("name", ["run.pkl", "run.PT", "run.pth", "run.joblib", "run.npz"])
@pytest.mark.parametrize("is_alone", [True, False])
def test_a_pickle_is_never_opened_and_its_refusal_says_how_to_convert_it(
    tmp_path: Path, name: str, is_alone: bool
) -> None:
    harm = tmp_path / "harm"

    class Harmful:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (harm,)

    folder = unpacked(tmp_path / "logs", {name: pickle.dumps(Harmful())})
    offered = folder / name if is_alone else folder
    (broken,) = ingest(Lake.create(tmp_path / "lake"), [offered]).broken
    assert f"{name} is a pickle" in broken
    assert "to_csv('run.csv', index=False)" in broken
    assert not harm.exists()


def test_checkpoints_beside_logs_are_left_out_without_a_refusal(tmp_path: Path) -> None:
    source = open_source(unpacked(tmp_path / "logs", CSV | {"a/model.pt": b"\x80\x04."}))
    assert detect(source, list(formats().values()), lambda _: True).files == {"csv": 1}
