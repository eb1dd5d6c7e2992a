"""Every command: its output, and one line for every invalid input."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from tests.applications import without_sql
from tests.cli.conftest import Run
from tests.ingest.offers import TrialOffer, study_files, tar_bytes, unpacked, written

WORKLOAD = "root/mnist/cnn/sgd"
OPTIONS = ("--metric", "val/classification_error", "--target", "0.3")


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_steps_prints_the_scaling_table(losslake: Run) -> None:
    rows = rows_of(losslake("steps", WORKLOAD, *OPTIONS, "--format", "csv").stdout)
    assert [(r["batch_size"], r["steps"], r["trial_id"], r["n_trials"], r["n_reached"]) for r in rows] == [
        ("8", "10", "2", "2", "2"), ("16", "", "", "1", "0")
    ]  # fmt: skip
    *_, reached, left_out, warning = losslake("steps", WORKLOAD, *OPTIONS).stdout.splitlines()
    assert reached.startswith("reached at 1 of 2 batch sizes")
    including = "--status COMPLETE --status MISSED --status INFEASIBLE includes them"
    assert left_out == f"left out: {WORKLOAD}: 1 trial of status INFEASIBLE: {including}"
    assert warning.startswith(f"warning: {WORKLOAD}: evaluations are far apart at batch size 8")


def test_steps_accepts_status_budgets_and_direction(losslake: Run) -> None:
    def first(*more: str) -> tuple[str, str]:
        row = rows_of(losslake("steps", WORKLOAD, *OPTIONS, *more, "--format", "csv").stdout)[0]
        return row["steps"], row["trial_id"]

    assert first("--status", "COMPLETE", "--status", "INFEASIBLE") == ("5", "3")
    assert first("--step-budget", "9") == ("", "")
    assert first("--trials", "1") == ("20", "1")
    assert first("--direction", "maximize") == ("0", "1")


def test_steps_in_json_equals_the_answer_of_the_service(losslake: Run) -> None:
    answer = json.loads(losslake("steps", WORKLOAD, *OPTIONS, "--format", "json").stdout)
    assert answer["workloads"] == [WORKLOAD]
    assert answer["rows"][1]["steps"] is None
    assert answer["rows"][1]["best_value"] == 0.4


def test_steps_without_a_workload_lists_them(losslake: Run) -> None:
    assert WORKLOAD in losslake("steps").stdout
    (workload,) = json.loads(losslake("steps", "--format", "json").stdout)
    assert workload == {
        "workload": WORKLOAD,
        "batch_sizes": 2,
        "smallest": 8,
        "largest": 16,
        "trials": 4,
        "batch_unit": "examples",
    }
    assert rows_of(losslake("steps", "--format", "csv").stdout)[0]["trials"] == "4"


def test_steps_finds_the_workload_by_its_words_and_lists_several(losslake: Run, tmp_path: Path) -> None:
    by_words = losslake("steps", "MNIST sgd", *OPTIONS, "--format", "csv")
    assert by_words.stdout == losslake("steps", WORKLOAD, *OPTIONS, "--format", "csv").stdout
    files = study_files({1: TrialOffer()}) | study_files({1: TrialOffer()}, workload="root/mnist/cnn/adam")
    at = ("--lake", tmp_path / "new")
    losslake("ingest", unpacked(tmp_path / "logs", files), *at)
    assert losslake("steps", "cnn", "sgd", *at).stdout == losslake("steps", "cnn sgd", *at).stdout
    several = losslake("steps", "mnist", *at, "--format", "csv")
    assert [row["workload"] for row in rows_of(several.stdout)] == ["root/mnist/cnn/adam", "root/mnist/cnn/sgd"]
    assert several.stderr.startswith("losslake: 'mnist' matches 2 workloads: give more words")
    assert several.returncode == 1
    assert losslake("analyze", "regimes", "--workload", "mnist", *at).stderr == several.stderr


def test_steps_and_the_service_give_the_same_answer(losslake: Run, lake: Lake) -> None:
    with TestClient(without_sql(lake)) as client:
        for more in ((), ("--status", "INFEASIBLE", "--step-budget", "10"), ("--direction", "maximize")):
            answer = json.loads(losslake("steps", WORKLOAD, *OPTIONS, *more, "--format", "json").stdout)
            pairs = zip((*OPTIONS, *more)[::2], (*OPTIONS, *more)[1::2], strict=True)
            parameters = {name.removeprefix("--").replace("-", "_"): value for name, value in pairs}
            served = client.get("/v1/scaling", params={"workload": WORKLOAD} | parameters)
            assert served.status_code == 200
            assert served.json() == answer


def test_steps_takes_missing_metric_and_target_from_the_goal(losslake: Run, tmp_path: Path) -> None:
    files = study_files({1: TrialOffer(rows=["0,0.9", "10,0.0001"])}, 8, "bundled/digits/softmax/sgd")
    at = ("--lake", tmp_path / "new")
    losslake("ingest", unpacked(tmp_path / "logs", files), *at)
    workload = "bundled/digits/softmax/sgd"
    goal = json.loads(losslake("steps", workload, *at, "--format", "json").stdout)
    assert (goal["metric"], goal["rows"][0]["steps"]) == ("val/classification_error", 10)
    done = losslake("steps", workload, *at, "--target", "0.95")
    assert "steps to val/classification_error < 0.95" in done.stdout
    assert "rows: fewest steps of any trial" in done.stdout


def test_sql_prints_results_in_each_format(losslake: Run, tmp_path: Path) -> None:
    query = "SELECT trial_id, step, value FROM measurements WHERE batch_size = 8 AND trial_id = 2 ORDER BY step"
    assert "(3 rows)" in losslake("sql", "-c", query).stdout
    assert rows_of(losslake("sql", "-c", query, "--format", "csv").stdout)[1]["value"] == "0.2"
    assert json.loads(losslake("sql", "-c", query, "--format", "json").stdout)[2]["value"] == "NaN"
    target = tmp_path / "out.parquet"
    assert losslake("sql", "-c", query, "--format", "parquet", "--output", target).returncode == 0
    assert pq.read_table(target)["step"].to_pylist() == [0, 10, 20]


def test_sql_reads_a_script_from_standard_input(losslake: Run) -> None:
    script = "-- a comment; with a semicolon\nSELECT 1 AS one;\nSELECT 'a;b' AS two;"
    assert losslake("sql", "--format", "csv", stdin=script).stdout == "one\n1\ntwo\na;b\n"


def test_sql_knows_the_macros_for_any_target(losslake: Run) -> None:
    query = "SELECT batch_size, steps, n_trials FROM result_at('val/classification_error', 0.3) ORDER BY ALL"
    assert losslake("sql", "-c", query, "--format", "csv").stdout == "batch_size,steps,n_trials\n8,10,2\n16,,1\n"


def test_a_truncated_table_states_the_number_of_rows(losslake: Run) -> None:
    shown = losslake("sql", "-c", "SELECT * FROM range(25000)", "--max-rows", "3").stdout
    assert "(the first 3 of 25,000 rows" in shown


@pytest.mark.parametrize(
    "statement",
    [
        "SELEC 1",
        "SELECT * FROM nowhere",
        "SELECT 1/",
        "CREATE TABLE x (a INT)",
        "DELETE FROM base.trials",
        "SELECT error('no\nnewline')",
    ],
)
def test_a_bad_statement_is_one_line_and_its_place(losslake: Run, statement: str) -> None:
    done = losslake("sql", "-c", statement)
    assert done.returncode == 1
    message, *place = done.stderr.splitlines()
    assert message.startswith("losslake: ")
    assert not place or place[0] == f"LINE 1: {statement}"
    assert not "".join(place[1:]).strip(" ^")


def test_releases_and_ledger_list_their_entries(losslake: Run) -> None:
    (release,) = json.loads(losslake("releases", "--format", "json").stdout)
    (row,) = rows_of(losslake("releases", "--format", "csv").stdout)
    assert {name: row[name] for name in ("number", "content_digest")} == {
        name: str(release[name]) for name in ("number", "content_digest")
    }
    assert (release["number"], release["n_trials"], release["n_measurements"]) == (1, 4, 10)
    entries = json.loads(losslake("ledger", "--format", "json").stdout)
    assert [entry["outcome"] for entry in entries] == ["ingested"] * 3
    cut = losslake("ledger", "--format", "json", "--limit", "2")
    assert json.loads(cut.stdout) == entries[:2]
    assert cut.stderr == "losslake: these are the newest 2 entries: --limit shows more\n"
    assert not losslake("ledger", "--limit", "3").stderr
    assert "no matching entry" in losslake("ledger", "--outcome", "quarantined").stdout


@pytest.mark.usefixtures("lakes_are_created")
def test_ingest_creates_the_lake_and_prints_a_summary(losslake: Run, tmp_path: Path) -> None:
    files = study_files({1: TrialOffer(), 2: TrialOffer(rows=["0,x"]), 3: TrialOffer(rows=["0,inf"])})
    offer = written(tmp_path / "a.tar", tar_bytes(files))
    done = losslake("ingest", offer, "--lake", tmp_path / "new", "--notes", "first")
    assert done.returncode == 0
    assert "ingested     2 trials in 1 study\n" in done.stdout
    assert "1 of them NaN or infinite" in done.stdout
    assert "not_a_number: root/mnist/cnn/sgd/8/2/measurements.csv:2: val/classification_error is 'x'" in done.stdout
    assert "reading" in done.stderr
    again = losslake("ingest", offer, "--lake", tmp_path / "new", "--strict")
    assert again.returncode == 1
    assert "not_a_number: root/mnist/cnn/sgd/8/2/measurements.csv:2" in again.stdout
    assert losslake("ingest", offer, "--lake", tmp_path / "other", "--strict").returncode == 1


def test_a_damaged_archive_exits_with_1_and_its_complete_trials_are_stored(losslake: Run, tmp_path: Path) -> None:
    files = study_files({1: TrialOffer()}) | study_files({1: TrialOffer()}, 16)
    offer = written(tmp_path / "cut.tar", tar_bytes(files)[:4000])
    done = losslake("ingest", offer, "--lake", tmp_path / "new")
    assert done.returncode == 1
    assert "cut short" in done.stderr
    assert Lake.open(tmp_path / "new").release().n_trials == 1


def test_hostile_text_does_not_reach_the_terminal_raw(losslake: Run, tmp_path: Path) -> None:
    files = study_files({1: TrialOffer(status="\x1b[31mred\x07"), 2: TrialOffer()})
    done = losslake("ingest", unpacked(tmp_path / "logs", files), "--lake", tmp_path / "new")
    assert "unknown_status" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    shown = losslake("sql", "-c", "SELECT chr(27) || '[31m' AS x").stdout
    assert "\x1b" not in shown
    assert "\\x1b[31m" in shown


def test_an_exported_folder_passes_sha256sum_and_can_be_read(losslake: Run, tmp_path: Path) -> None:
    done = losslake("export", tmp_path / "out")
    assert done.returncode == 0
    names = {line.split("  ")[1] for line in (tmp_path / "out/SHA256SUMS").read_text().splitlines()}
    files = {str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert names == files - {"SHA256SUMS"}
    again = losslake("export", tmp_path / "out")
    assert (again.returncode, again.stderr.count("\n")) == (1, 1)
    assert "is not empty" in again.stderr


@pytest.mark.parametrize("harm", ["altered", "truncated", "missing", "list"])
def test_verify_names_the_damaged_file(losslake: Run, lake: Lake, tmp_path: Path, harm: str) -> None:
    assert losslake("verify").returncode == 0
    copy = tmp_path / "copy"
    shutil.copytree(lake.folder, copy)
    release = lake.release()
    chosen = release.manifest if harm == "list" else next(f.path for f in lake.files(release) if f.table == "records")
    data = bytearray((copy / chosen).read_bytes())
    if harm == "missing":
        (copy / chosen).unlink()
    else:
        data[len(data) // 2] ^= 1
        (copy / chosen).write_bytes(data[:-1] if harm == "truncated" else data)
    done = losslake("verify", "--lake", copy)
    assert done.returncode == 1
    assert chosen in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("steps", "root/mnist/cnn/adam", *OPTIONS), "did you mean root/mnist/cnn/sgd"),
        (("steps", "nonsense", *OPTIONS), "did you mean root/mnist/cnn/sgd"),
        (("steps", WORKLOAD, "--metric", "val/accuracy", "--target", "1"), "has no metric"),
        (
            ("steps", WORKLOAD, "--metric", "val/classification_error", "--target", "nan"),
            "--target nan: input should be a finite number",
        ),
        (("steps", WORKLOAD), "has no goal"),
        (("steps", WORKLOAD, "--metric", "val/x"), "has no metric 'val/x': did you mean val/classification_error"),
        (("workloads", "nonsense"), "did you mean root/mnist/cnn/sgd"),
        (("steps", "--release", "9"), "there is no release 9; the newest are: 1"),
        (("sql", "-c", ""), "no statement: give"),
        (("sql", "-c", "SELECT 1", "--lake", "/dev/null"), "there is no lake"),
        (("ingest", "/no/such/path"), "/no/such/path doesn't exist"),
        (("verify", "--lake", "postgresql://x"), "is one URL"),
        (("releases", "--lake", "/no/such/lake"), "there is no lake in /no/such/lake"),
    ],
)
def test_a_wrong_input_is_one_clear_line(losslake: Run, arguments: tuple[str, ...], says: str) -> None:
    done = losslake(*arguments)
    assert done.returncode in (1, 2)
    assert says in done.stderr


def test_init_refuses_a_folder_with_other_files(losslake: Run, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    done = losslake("init", "--lake", tmp_path)
    assert done.returncode == 1
    assert "is not a lake" in done.stderr


def test_init_prints_the_next_command(losslake: Run, tmp_path: Path) -> None:
    done = losslake("init", "--lake", tmp_path / "new")
    assert "losslake ingest PATH" in done.stdout
    assert "no release yet" in losslake("releases", "--lake", tmp_path / "new").stdout
    empty = losslake("steps", "--lake", tmp_path / "new")
    assert "has no release yet" in empty.stderr
