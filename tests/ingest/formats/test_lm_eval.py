"""Results of the evaluation harness: a folder of documents is a run, and the step is that of the checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Rule
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.format import Glimpse
from losslake_ingest.formats.lm_eval import FORMAT
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.sources.open import open_source
from tests.ingest.formats.reading import cells, read, runs
from tests.ingest.offers import tar_bytes


def result(step: int | None, shots: int | None = 5, **tasks: dict[str, Any]) -> bytes:
    revision = f"pretrained=a/b,revision=step{step}" if step is not None else "pretrained=a/b"
    config = {"model": "hf", "model_args": revision, "num_fewshot": shots, "batch_size": 16}
    return json.dumps({"results": tasks, "versions": {"piqa": 0}, "config": config}, indent=2).encode()


PIQA = {"acc": 0.5, "acc_stderr": 0.1, "acc_norm": 0.25}


def test_documents_of_a_folder_are_a_run_in_the_order_of_their_steps(tmp_path: Path) -> None:
    files = {
        "m/five/a_step1000.json": result(1000, piqa=PIQA, lambada={"ppl": 7.5}),
        "m/five/a_step200.json": result(200, piqa=PIQA | {"acc": 0.4}),
        "m/zero/a_step0.json": result(0, 0, piqa={"acc,none": 0.3, "acc_stderr,none": 0.1, "alias": "piqa"}),
    }
    five, zero = runs(FORMAT, tmp_path, files)
    assert (five.run, five.fields, len(five.files)) == ("m/five", {"num_fewshot": 5}, 2)
    (rows,) = five.rows
    assert set(rows.columns) == {"step", "piqa.acc", "piqa.acc_norm", "lambada.ppl"}
    assert cells(rows, "step") == [200, 1000]
    assert cells(rows, "piqa.acc") == [0.4, 0.5]
    assert cells(rows, "lambada.ppl") == [None, 7.5]
    assert (zero.fields, cells(zero.rows[0], "piqa.acc")) == ({"num_fewshot": 0}, [0.3])


@pytest.mark.parametrize(
    ("name", "revision", "step"),
    [("r_step12.json", None, 12), ("global_step12_x.json", 12, 12), ("r.json", 12, 12), ("step-12.json", None, 12)],
)
def test_the_step_is_that_of_the_name_or_the_revision(
    tmp_path: Path, name: str, revision: int | None, step: int
) -> None:
    (run,) = runs(FORMAT, tmp_path, {f"m/{name}": result(revision, piqa=PIQA)})
    assert cells(run.rows[0], "step") == [step]


@pytest.mark.parametrize(
    ("name", "document", "rule", "message"),
    [
        ("r.json", result(None, piqa=PIQA), Rule.STEP_UNKNOWN, "states a step"),
        ("r_step3.json", result(4, piqa=PIQA), Rule.STEP_DOUBTFUL, "state steps 3 and 4"),
        ("r_step3.json", result(3, 0, piqa=PIQA), Rule.FACTS_DISAGREE, "it states num_fewshot 0, and the first file"),
        ("r_step3.json", result(3, piqa=PIQA)[:-4], Rule.UNREADABLE_LOG, ""),
    ],
)
def test_a_document_that_cant_be_used_is_quarantined_and_the_others_count(
    tmp_path: Path, name: str, document: bytes, rule: Rule, message: str
) -> None:
    fault, run = read(FORMAT, tmp_path, {"m/a_step1.json": result(1, piqa=PIQA), f"m/{name}": document})
    assert isinstance(fault, Quarantined)
    assert (fault.path, fault.rule) == (f"m/{name}", rule)
    assert message in fault.message
    assert isinstance(run, RunLog)
    assert cells(run.rows[0], "step") == [1]


def test_other_documents_are_left_alone(tmp_path: Path) -> None:
    assert runs(FORMAT, tmp_path, {"m/a.json": b'{"results": [1, 2]}', "m/b.json": b"[]", "m/c.json": b""}) == []


def test_a_folder_that_is_in_two_places_of_an_archive_is_read_once(tmp_path: Path) -> None:
    files = {"m/a_step1.json": result(1, piqa=PIQA), "n/a_step1.json": result(1, piqa=PIQA)}
    (tmp_path / "a.tar").write_bytes(tar_bytes(files | {"m/b_step2.json": result(2, piqa=PIQA)}))
    found = list(FORMAT.read(open_source(tmp_path / "a.tar"), LogMapping()))
    assert [each.run for each in found if isinstance(each, RunLog)] == ["m", "n"]
    assert [each.rule for each in found if isinstance(each, Quarantined)] == [Rule.DUPLICATE_FILE]


def test_detection_is_by_results() -> None:
    assert FORMAT.detect(Glimpse("m/r.json", result(1, piqa=PIQA)[:200])) == 0.8
    assert FORMAT.detect(Glimpse("m/r.txt", result(1, piqa=PIQA))) == 0
    assert FORMAT.detect(Glimpse("m/r.json", b'{"results": {"a": [1]}}')) == 0


@settings(suppress_health_check=list(HealthCheck), max_examples=60)
@given(st.binary(max_size=60), st.integers(0, 300))
def test_any_bytes_are_a_run_or_a_reason(tmp_path_factory: pytest.TempPathFactory, noise: bytes, at: int) -> None:
    data = result(1, piqa=PIQA)
    data = data[:at] + noise + data[at + len(noise) :]
    for item in read(FORMAT, tmp_path_factory.getbasetemp() / "lm_eval", {"m/a_step1.json": data}):
        assert isinstance(item, (RunLog, Quarantined))
