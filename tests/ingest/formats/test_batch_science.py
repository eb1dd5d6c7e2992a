"""The published layout: where studies come from, and the fate of everything that breaks a rule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.contracts.report import Quarantined, Summary
from losslake_ingest.contracts.rules import Rule
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.run import ingest
from tests.ingest.offers import HEADER, Files, TrialOffer, study_files, tar_bytes, unpacked, written
from tests.ingest.stored_rows import stored_rows

GOOD = {1: TrialOffer(), 2: TrialOffer(), 3: TrialOffer()}
SUBSET = "root/imagenet_subsets/imagenet_half_images/resnet_50/sgd"


def offered(tmp_path: Path, files: Files) -> tuple[Lake, Summary]:
    lake = Lake.create(tmp_path / "lake")
    return lake, ingest(lake, [written(tmp_path / "offer.tar", tar_bytes(files))])


Trials = list[tuple[str, int, int]]


def stored_trials(lake: Lake) -> Trials:
    rows = stored_rows(lake, "trials")
    return sorted(
        ("/".join(r[k] for k in ("collection", "dataset", "model", "optimizer")), r["batch_size"], r["trial_id"])
        for r in rows
    )


BAD_TRIALS: list[tuple[TrialOffer, Rule, str, int | None]] = [
    (TrialOffer(metadata={"trial_id": 7}), Rule.TRIAL_ID_DISAGREES, "metadata.json", None),
    (TrialOffer(metadata={"trial_id": "2"}), Rule.BAD_FIELD, "metadata.json", None),
    (TrialOffer(metadata={"trial_id": True}), Rule.BAD_FIELD, "metadata.json", None),
    (TrialOffer(status="DONE"), Rule.UNKNOWN_STATUS, "metadata.json", None),
    (TrialOffer(metadata={"steps": -1}), Rule.BAD_FIELD, "metadata.json", None),
    (TrialOffer(metadata={"steps": 1e300}), Rule.BAD_FIELD, "metadata.json", None),
    (TrialOffer(metadata={"parameters": [1]}), Rule.BAD_FIELD, "metadata.json", None),
    (TrialOffer(rows=["0,0.5", "0,0.4"]), Rule.STEPS_NOT_ASCENDING, "measurements.csv", 3),
    (TrialOffer(rows=["-5,0.5"]), Rule.NEGATIVE_STEP, "measurements.csv", 2),
    (TrialOffer(rows=["0,half"]), Rule.NOT_A_NUMBER, "measurements.csv", 2),
    (TrialOffer(header=f"{HEADER},val/loss", rows=["0,1,2"]), Rule.COLUMNS_DIFFER, "measurements.csv", 1),
]
BAD_JSON: dict[str, bytes] = {
    "cut": b"{",
    "list": b"[]",
    "null": b"null",
    "no-utf8": b'{"a": "\xff"}',
    "surrogate": b'{"a": "\\ud800"}',
    "deep": b"[" * 100_000,
    "long-number": b'{"steps": 1' + b"0" * 5000 + b"}",
    "empty": b"",
    "two-values": b'{"status": "COMPLETE", "status": "INFEASIBLE"}',
}
BAD_STUDIES: list[tuple[bytes | dict[str, object], Rule]] = [
    (b"{", Rule.BAD_JSON),
    ({"batch_size": 16}, Rule.BATCH_SIZE_DISAGREES),
    ({"batch_size": "8"}, Rule.BAD_FIELD),
    ({"dataset": "cifar"}, Rule.WORKLOAD_DISAGREES),
    ({"optimizer": None}, Rule.WORKLOAD_DISAGREES),
    ({"train_steps": None}, Rule.BAD_FIELD),
    ({"early_stopping": "no"}, Rule.BAD_FIELD),
    ({"parameter_configs": 3}, Rule.BAD_FIELD),
]
Offered = tuple[Lake, Trials, dict[str, list[Quarantined]]]


def offered_together(folder: Path, files: Files) -> Offered:
    """Studies that were offered at once: their lake, its trials, and by batch size why others aren't stored."""
    lake, summary = offered(folder, files)
    reasons: dict[str, list[Quarantined]] = {}
    for reason in summary.quarantined:
        reasons.setdefault(reason.path.split("/")[4], []).append(reason)
    return lake, stored_trials(lake), reasons


def kept(trials: Trials, batch_size: int) -> list[int]:
    return [trial_id for _, its_size, trial_id in trials if its_size == batch_size]


@pytest.fixture(scope="module")
def bad_trials(tmp_path_factory: pytest.TempPathFactory) -> Offered:
    """The second trial of each study is bad: those of BAD_TRIALS, from batch size 1 on."""
    files: Files = {}
    for batch_size, (trial, *_) in enumerate(BAD_TRIALS, 1):
        files |= study_files({**GOOD, 2: trial}, batch_size)
    return offered_together(tmp_path_factory.mktemp("trials"), files)


@pytest.fixture(scope="module")
def bad_json(tmp_path_factory: pytest.TempPathFactory) -> Offered:
    files: Files = {}
    for batch_size, text in enumerate(BAD_JSON.values(), 1):
        files |= study_files(GOOD, batch_size) | {f"root/mnist/cnn/sgd/{batch_size}/2/metadata.json": text}
    return offered_together(tmp_path_factory.mktemp("json"), files)


@pytest.fixture(scope="module")
def bad_studies(tmp_path_factory: pytest.TempPathFactory) -> Offered:
    """Beside a good study at batch size 1000."""
    files = study_files(GOOD, 1000)
    for batch_size, (study_json, _) in enumerate(BAD_STUDIES, 1):
        files |= study_files(GOOD, batch_size)
        path = f"root/mnist/cnn/sgd/{batch_size}/study.json"
        whole = json.loads(files[path])
        files[path] = json.dumps(whole | study_json).encode() if isinstance(study_json, dict) else study_json
    return offered_together(tmp_path_factory.mktemp("studies"), files)


@pytest.mark.parametrize(("batch_size", "bad"), list(enumerate(BAD_TRIALS, 1)))
def test_a_bad_trial_is_quarantined_with_its_reason_and_the_others_are_stored(
    bad_trials: Offered, batch_size: int, bad: tuple[TrialOffer, Rule, str, int | None]
) -> None:
    _, rule, file, line = bad
    lake, trials, reasons = bad_trials
    (reason,) = reasons[str(batch_size)]
    assert (reason.rule, reason.path, reason.line) == (rule, f"root/mnist/cnn/sgd/{batch_size}/2/{file}", line)
    assert (reason.study, reason.trial_id) == (f"root/mnist/cnn/sgd/{batch_size}", 2)
    assert reason.sha256 is not None
    assert kept(trials, batch_size) == [1, 3]
    (entry,) = (entry for entry in lake.ledger("quarantined") if entry.path == reason.path)
    assert (entry.rule, entry.line, entry.reason) == (rule, line, reason.message)


@pytest.mark.parametrize(("batch_size", "name"), list(enumerate(BAD_JSON, 1)))
def test_bad_json_quarantines_the_trial(bad_json: Offered, batch_size: int, name: str) -> None:
    _, trials, reasons = bad_json
    assert [reason.rule for reason in reasons[str(batch_size)]] == [Rule.BAD_JSON]
    assert kept(trials, batch_size) == [1, 3]


@pytest.mark.parametrize(("batch_size", "bad"), list(enumerate(BAD_STUDIES, 1)))
def test_a_bad_study_file_quarantines_its_study_and_no_other(
    bad_studies: Offered, batch_size: int, bad: tuple[bytes | dict[str, object], Rule]
) -> None:
    _, trials, reasons = bad_studies
    path = f"root/mnist/cnn/sgd/{batch_size}/study.json"
    assert [(q.rule, q.path) for q in reasons[str(batch_size)]] == [(bad[1], path)]
    assert {its_size for _, its_size, _ in trials} == {1000}


@pytest.mark.parametrize("stated", ["imagenet", "imagenet_half_images", "imagenet_subsets/imagenet_half_images"])
def test_a_subset_may_be_named_by_its_data_set_or_with_the_folder_above(tmp_path: Path, stated: str) -> None:
    lake, summary = offered(tmp_path, study_files(GOOD, workload=SUBSET, dataset=stated))
    assert not summary.quarantined
    assert len(stored_trials(lake)) == len(GOOD)


@pytest.mark.parametrize(
    "stated",
    [
        "image",
        *(
            pytest.param(s, marks=pytest.mark.slow)
            for s in ("", "half_images", "subsets/imagenet_half_images", "resnet_50")
        ),
    ],
)
def test_a_part_of_a_name_is_no_data_set(tmp_path: Path, stated: str) -> None:
    _, summary = offered(tmp_path, study_files(GOOD, workload=SUBSET, dataset=stated))
    assert [q.rule for q in summary.quarantined] == [Rule.WORKLOAD_DISAGREES]


@pytest.mark.parametrize("missing", ["study.json", "2/metadata.json", "2/measurements.csv"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    files = study_files(GOOD)
    del files[f"root/mnist/cnn/sgd/8/{missing}"]
    lake, summary = offered(tmp_path, files | study_files(GOOD, batch_size=16))
    assert [(q.rule, q.path) for q in summary.quarantined] == [(Rule.MISSING_FILE, f"root/mnist/cnn/sgd/8/{missing}")]
    assert len(stored_trials(lake)) == (3 if missing == "study.json" else 5)


def test_files_of_a_study_may_be_scattered(tmp_path: Path) -> None:
    one, two = study_files(GOOD, 8), study_files(GOOD, 16)
    names = sorted(one | two, key=lambda path: (path.endswith("study.json"), path.rsplit("/", 1)[1], path[::-1]))
    lake, summary = offered(tmp_path, {name: (one | two)[name] for name in names})
    assert not summary.quarantined
    assert len(stored_trials(lake)) == 6
    together = Lake.create(tmp_path / "together")
    ingest(together, [written(tmp_path / "sorted.tar", tar_bytes(one | two))])
    assert lake.release().content_digest == together.release().content_digest


def test_duplicate_file_is_read_once_and_reported(tmp_path: Path) -> None:
    files = study_files(GOOD)
    again = {f"./{path}": b"else" for path in files if path.endswith("/2/measurements.csv")}
    lake, summary = offered(tmp_path, files | again)
    assert [q.rule for q in summary.quarantined] == [Rule.DUPLICATE_FILE]
    assert len(stored_trials(lake)) == 3


@pytest.mark.parametrize(
    ("workload", "collection"),
    [
        pytest.param("batch_science/mnist/cnn/sgd", "shallue2018", marks=pytest.mark.slow),
        ("batch_science/mnist_subsets/mnist_55000/cnn/sgd", "shallue2018/mnist_subsets"),
        pytest.param("losslake_bundled/digits/softmax/sgd", "bundled", marks=pytest.mark.slow),
        ("elsewhere/a/b/mnist/cnn/sgd", "elsewhere/a/b"),
        pytest.param("mnist/cnn/sgd", "offer", marks=pytest.mark.slow),
    ],
)
def test_base_folders_name_the_collection(tmp_path: Path, workload: str, collection: str) -> None:
    lake, _ = offered(tmp_path, study_files(GOOD, workload=workload))
    assert stored_trials(lake)[0][0].startswith(f"{collection}/")
    (row,) = stored_rows(lake, "collections")
    assert row["collection"] == collection


@pytest.mark.parametrize("inside", ["", "mnist_subsets/"])
def test_an_unpacked_archive_may_be_offered_by_its_root_folder(tmp_path: Path, inside: str) -> None:
    lake = Lake.create(tmp_path / "lake")
    folder = unpacked(tmp_path / "batch_science", study_files(GOOD, workload=f"{inside}mnist/cnn/sgd"))
    ingest(lake, [folder])
    assert stored_trials(lake)[0][0] == f"shallue2018/{inside}mnist/cnn/sgd"


def test_a_given_collection_replaces_the_first_folder(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    folder = unpacked(tmp_path / "logs", study_files(GOOD, workload="root/sub/mnist/cnn/sgd"))
    ingest(lake, [folder], Request(collection="mine"))
    assert stored_trials(lake)[0][0] == "mine/sub/mnist/cnn/sgd"


@pytest.mark.parametrize("name", ["a\tb", "x" * 201])
def test_names_that_can_not_be_shown_are_refused(tmp_path: Path, name: str) -> None:
    lake, summary = offered(
        tmp_path, study_files({1: TrialOffer()}, workload=f"root/{name}/cnn/sgd") | study_files(GOOD)
    )
    assert {q.rule for q in summary.quarantined} == {Rule.BAD_NAME}
    assert len(stored_trials(lake)) == 3


def test_hostile_but_printable_names_are_only_names(tmp_path: Path) -> None:
    name = "<script>'; DROP TABLE x; -- %2F..#é"
    lake, summary = offered(tmp_path, study_files(GOOD, workload=f"root/{name}/cnn/sgd"))
    assert not summary.quarantined
    assert stored_trials(lake)[0][0] == f"root/{name}/cnn/sgd"


def test_metaparameters_are_numbers_where_float64_holds_them_and_json_text_else(tmp_path: Path) -> None:
    parameters = {"learning_rate": 0.1, "n": 3, "seed": 2**63 + 1, "flag": True, "name": "x", "null": None, "list": [1]}
    lake, _ = offered(tmp_path, study_files({1: TrialOffer(metadata={"parameters": parameters})}))
    (row,) = stored_rows(lake, "trials")
    assert dict(row["parameters"]) == {"learning_rate": 0.1, "n": 3.0}
    assert {key: json.loads(text) for key, text in row["attributes"]} == {
        "seed": 2**63 + 1, "flag": True, "name": "x", "null": None, "list": [1]
    }  # fmt: skip


def test_trials_without_rows_are_stored_and_never_reach(tmp_path: Path) -> None:
    lake, summary = offered(tmp_path, study_files({**GOOD, 2: TrialOffer(rows=[], status="INFEASIBLE")}))
    assert not summary.quarantined
    rows = {r["trial_id"]: r for r in stored_rows(lake, "trials")}
    assert (rows[2]["n_evaluations"], rows[2]["last_step"], rows[1]["last_step"]) == (0, None, 20)


def test_files_outside_the_layout_are_refused_and_others_skipped(tmp_path: Path) -> None:
    files = study_files(GOOD) | {
        "root/README.md": b"hi",
        "root/measurements.csv": b"x",
        "root/mnist/cnn/sgd/b8/study.json": b"{}",
    }
    _, summary = offered(tmp_path, files)
    assert {(q.rule, q.path) for q in summary.quarantined} == {
        (Rule.BAD_NAME, "root/measurements.csv"), (Rule.BAD_NAME, "root/mnist/cnn/sgd/b8/study.json")
    }  # fmt: skip


def test_a_complete_trial_cut_within_its_header_is_quarantined(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    trials = {1: TrialOffer(), 2: TrialOffer(text=b"step,val/classi"), 3: TrialOffer(rows=())}
    summary = ingest(lake, [unpacked(tmp_path / "offer", study_files(trials))])
    assert ([reason.rule for reason in summary.quarantined], summary.trials_ingested) == (["no_measurements"], 2)
