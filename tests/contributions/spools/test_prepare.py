from __future__ import annotations

import json
from pathlib import Path

import pytest

from losslake_contributions.spools.prepare import prepare
from losslake_contributions.spools.preview import preview
from losslake_contributions.spools.recorded import local_words
from losslake_contributions.spools.spool import BadSpool, is_spool, read_spool, spools_in
from losslake_ingest.pipeline.reading import Request
from losslake_schema.errors import LossLakeError
from tests.contributions.made_runs import ERROR, curve, name_of, write_run


def test_recorded_runs_keep_their_names_and_segments(tmp_path: Path) -> None:
    spool = write_run(tmp_path / "runs", 1, curve([0.9, 0.30000000000000004]), parameters={"home": "/home/ann"})
    prepared = prepare([tmp_path / "runs"], Request(), tmp_path / "out")
    (sent,) = map(read_spool, prepared.spools)
    assert sent.name == name_of(1)
    assert [each.data() for each in sent.segments] == [each.data() for each in spool.segments]
    assert sent.end == spool.end
    assert sent.parameters == {}
    assert [each.kind for each in prepared.removals[sent.name]] == ["path"]


def test_segments_with_private_names_get_new_digests(tmp_path: Path) -> None:
    write_run(tmp_path / "runs", 1, [{"step": 1, ERROR: 0.5, "val//home/ann/x/acc": 1.0}])
    prepared = prepare([tmp_path / "runs"], Request(), tmp_path / "out")
    (sent,) = map(read_spool, prepared.spools)
    assert b"ann" not in sent.segments[0].data()
    assert sent.differences() == []


def test_a_run_without_an_end_is_sent_without_one(tmp_path: Path) -> None:
    spool = write_run(tmp_path / "runs", 1, curve([0.9]))
    (spool.folder / "end.json").unlink()
    (sent,) = map(read_spool, prepare([tmp_path / "runs"], Request(), tmp_path / "out").spools)
    assert sent.end is None


def test_the_same_run_twice_is_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write_run(tmp_path / folder, 1, curve([0.9]))
    with pytest.raises(LossLakeError, match="is given twice"):
        prepare([tmp_path / "a", tmp_path / "b"], Request(), tmp_path / "out")


def test_the_preview_has_the_bytes_of_every_file(tmp_path: Path) -> None:
    spool = write_run(tmp_path / "runs", 1, curve([0.9, 0.5]))
    lines = list(preview(spool, []))
    for path in spool.folder.rglob("*.json*"):
        assert all(line in lines for line in path.read_text().splitlines())
    assert lines[-1] == "-- removed before: 0, nothing private was found"


def test_links_and_other_folders_are_no_spools(tmp_path: Path) -> None:
    spool = write_run(tmp_path / "runs", 1, curve([0.9]))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.json").symlink_to(spool.folder / "run.json")
    assert not is_spool(tmp_path / "other")
    assert spools_in(tmp_path) == [spool.folder]
    with pytest.raises(BadSpool, match=r"run\.json"):
        read_spool(tmp_path / "other")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": "losslake-record/1"', json.dumps({"format": "x"})])
def test_damaged_documents_are_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(BadSpool) as refusal:
        read_spool(tmp_path)
    assert len(str(refusal.value).splitlines()) == 1


def test_the_names_of_this_machine_are_removed(tmp_path: Path) -> None:
    words = {word: kind for word, kind in local_words().items() if len(word) > 4}
    for word in words:
        write_run(tmp_path / word, 1, curve([0.9]), parameters={"tag": f"on {word}"})
        (sent,) = map(read_spool, prepare([tmp_path / word], Request(), tmp_path / "out" / word).spools)
        assert word not in sent.parameters["tag"] or word.lower() in ("root", "ubuntu", "runner", "docker")
