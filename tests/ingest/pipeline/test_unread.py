"""A source without a log of a known format is refused with the file that may be one, what is wrong, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake_ingest.pipeline.reading import NO_KNOWN_FORMAT, Request
from losslake_ingest.plan import plan_ingest

LINES = "".join(f"step {step} val_loss {1 / step:.3f}\n" for step in range(1, 9))
TABLE = "step,val_loss\n1,2\n2,1\n"
NULS = b"\0" * 4000


def why(folder: Path, *files: tuple[str, bytes | str]) -> str:
    folder.mkdir(exist_ok=True)
    for path, data in files:
        (folder / path).write_bytes(data if isinstance(data, bytes) else data.encode())
    (broken,) = plan_ingest(None, [folder], Request()).broken
    return broken.partition(": ")[2]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.csv", NULS + TABLE.encode(), "a.csv: it begins with 4,000 NUL bytes, as after a crash: cut them off"),
        ("a.csv", NULS + b"\0" * 999, "a.csv: it begins with 4,096 NUL bytes"),
        ("a.jsonl", NULS + b'{"step": 1, "loss": 2}\n', "a.jsonl: it begins with 4,000 NUL bytes"),
        ("a.log", NULS + LINES.encode(), "a.log: it begins with 4,000 NUL bytes"),
        ("a.csv", "step,loss,step\n1,2,3\n", "a.csv, line 1: the column 'step' occurs more than once: rename or"),
        ("a.csv", "# x\n1,2\n3,4\n", "a.csv, line 2: the first line holds no names"),
        ("a.csv", "step|loss\n1|2\n", "a.csv, line 1: the header has one column: separate columns by commas"),
        ("a.csv", "step,loss\nx,y\n", "a.csv, line 1: the row below the header holds no number"),
        ("a.log", NULS + b"\0" * 999, "a.log: it begins with 4,096 NUL bytes"),
        ("a.csv", "", "a.csv, line 1: there is no header line"),
        (
            "run.md",
            LINES,
            "run.md holds lines of a log in text, and the format text reads no .md: rename it to run.log",
        ),
    ],
)
def test_the_reason_names_the_file_the_cause_and_what_to_do(
    tmp_path: Path, name: str, data: bytes | str, reason: str
) -> None:
    assert why(tmp_path, (name, data), ("README.md", "# Runs\n")).startswith(reason)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("model.bin", NULS + TABLE.encode()),
        ("a.mp4", b"\0\0\0\x20ftypisom" + bytes(99)),
        ("a.log", NULS + b"\x01\0\x02"),
        ("README.md", "# Runs\n\nSee the paper.\n"),
        ("settings.json", '{"lr": 1}'),
    ],
)
def test_a_file_that_is_no_log_is_not_accused(tmp_path: Path, name: str, data: bytes | str) -> None:
    assert why(tmp_path, (name, data)).startswith(NO_KNOWN_FORMAT)


def test_a_log_beside_it_is_named_too(tmp_path: Path) -> None:
    found = why(tmp_path, ("a.csv", "step,loss,step\n1,2,3\n"), ("run.log", LINES), ("model.pt", b"x"))
    assert found.startswith("a.csv, line 1: the column 'step' occurs")
    assert "; run.log is text: add to losslake.toml, under [text]: lines = [" in found


def test_what_the_reason_says_is_enough(tmp_path: Path) -> None:
    mapping = 'collection.name = "c"\nrun = { dataset = "d", model = "m", optimizer = "o", batch_size = 8 }\n'
    (tmp_path / "losslake.toml").write_text(mapping)
    for name, data in {"a.csv": "sep=|\nstep|val_loss\n1|2\n", "b.csv": TABLE}.items():
        (tmp_path / name).write_text(data)
    plan = plan_ingest(None, [tmp_path], Request())
    assert ([study.trials for study in plan.studies.values()], plan.quarantined, plan.broken) == ([2], [], [])


def test_the_mapping_of_mlperf_training_names_that_of_mlperf_hpc(tmp_path: Path) -> None:
    text = ':::MLLOG {"namespace": "", "time_ms": 1, "event_type": "", "key": "%s", "value": %s, "metadata": {%s}}\n'
    entries = [
        ("submission_benchmark", '"cosmoflow"', ""), ("global_batch_size", "64", ""), ("train_samples", "640", ""),
        ("eval_error", "0.5", '"epoch_num": 1'), ("run_stop", "null", '"status": "success"'),
    ]  # fmt: skip
    (tmp_path / "result_0.txt").write_text("".join(text % entry for entry in entries))
    (item,) = plan_ingest(None, [tmp_path], Request(mapping=Path("mlperf"))).quarantined
    assert item.message == (
        "this is a log of MLPerf HPC, and the mapping mlperf is for MLPerf Training: "
        "give --map published/mlperf-hpc/losslake.toml"
    )
