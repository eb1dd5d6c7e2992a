"""A run is sent without private data, otherwise as it was recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import losslake.record
from losslake_contributions.client.conversion import prepare
from losslake_contributions.client.prepared_run import prepared
from losslake_contributions.client.privacy import local_words
from losslake_contributions.protocol.contributions import RunFacts
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import plan_ingest
from losslake_ingest.readers.recorded.folder import BadSpool, Spool, is_spool, read_spool, spools_in
from losslake_schema.errors import LossLakeError
from tests.contributions.made_runs import ERROR, curve, name_of, write_run


def sent(runs: Path, into: Path) -> Spool:
    """The only run in a folder, written as it is sent."""
    (run,) = prepare([runs], Request(), into).runs.values()
    return read_spool(run.write(into))


def test_recorded_runs_keep_their_names_and_segments(tmp_path: Path) -> None:
    spool = write_run(tmp_path / "runs", 1, curve([0.9, 0.30000000000000004]), parameters={"home": "/home/ann"})
    run = sent(tmp_path / "runs", tmp_path / "out")
    assert run.name == name_of(1)
    assert [each.data() for each in run.segments] == [each.data() for each in spool.segments]
    assert run.end == spool.end
    assert run.parameters == {}
    assert [each.kind for each in prepared(spool).removals] == ["path"]


def test_labels_of_a_run_are_its_attributes_and_private_data_in_them_is_removed(tmp_path: Path) -> None:
    labels: dict[str, Any] = {"name": "lr 0.1 of ann@example.org", "group": "sweep", "tags": ["a", "/home/ann/data"]}
    percent = {"acc": ("val/accuracy", 0.01)}
    start: dict[str, Any] = {"workload": "mine/mnist/cnn/sgd", "batch_size": 64, "folder": tmp_path, "metrics": percent}
    with losslake.record.start(**start, **labels) as recorded:
        recorded.log({"acc": 93.0}, step=1)
    assert recorded.folder is not None
    stated = json.loads((recorded.folder / "run.json").read_text())["attributes"]
    expected = {"run_name": labels["name"], "run_group": "sweep", "tags": labels["tags"]}
    assert stated == {**expected, "val/accuracy": "acc x 0.01"}
    run = prepared(read_spool(recorded.folder))
    facts = RunFacts.model_validate_json(run.documents()["run.json"])
    assert facts.attributes == {
        "run_name": "lr 0.1 of [e-mail]", "run_group": "sweep", "tags": ["a", "data"], "val/accuracy": "acc x 0.01"
    }  # fmt: skip
    (study,) = plan_ingest(None, [tmp_path], Request()).studies
    assert str(study) == "mine/mnist/cnn/sgd/64"


def test_segments_with_private_names_get_new_digests(tmp_path: Path) -> None:
    write_run(tmp_path / "runs", 1, [{"step": 1, ERROR: 0.5, "val//home/ann/x/acc": 1.0}])
    run = sent(tmp_path / "runs", tmp_path / "out")
    assert b"ann" not in run.segments[0].data()
    assert run.differences() == []


def test_a_run_without_an_end_is_sent_without_one(tmp_path: Path) -> None:
    spool = write_run(tmp_path / "runs", 1, curve([0.9]))
    (spool.folder / "end.json").unlink()
    assert sent(tmp_path / "runs", tmp_path / "out").end is None


def test_the_same_run_twice_is_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write_run(tmp_path / folder, 1, curve([0.9]))
    with pytest.raises(LossLakeError, match="is given twice"):
        prepare([tmp_path / "a", tmp_path / "b"], Request(), tmp_path / "out")


def test_the_preview_has_the_bytes_of_every_file(tmp_path: Path) -> None:
    spool = write_run(tmp_path / "runs", 1, curve([0.9, 0.5]))
    run = prepared(spool)
    lines = list(run.preview())
    for path in run.write(tmp_path / "sent").rglob("*.json*"):
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
        run = sent(tmp_path / word, tmp_path / "out" / word)
        assert word not in run.parameters["tag"] or word.lower() in ("root", "ubuntu", "runner", "docker")
