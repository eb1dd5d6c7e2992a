import json
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from studies.__main__ import chosen_tasks, parser
from studies.archive import measurements, write_archive
from studies.reading import read_archive
from studies.running import Task, run_studies
from studies.training import Trial
from studies.workloads import load_workloads


def tiny_tasks() -> list[Task]:
    """Two studies of two short trials."""
    workload = next(workload for workload in load_workloads() if workload.path == "digits/mlp_16/nesterov_momentum")
    tiny = replace(workload, trials=2, minimum_steps=12, examples=8)
    return [(tiny, 4, 1), (tiny, 8, 1)]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("archive") / "tiny.tar.bz2"
    write_archive(file, run_studies(tiny_tasks(), processes=1))
    return file


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_however_many_processes_train(archive: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.tar.bz2"
    write_archive(again, run_studies(tiny_tasks(), processes=2))
    assert again.read_bytes() == archive.read_bytes()


def test_another_seed_gives_other_curves(archive: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.tar.bz2"
    write_archive(other, run_studies([(workload, size, 2) for workload, size, _ in tiny_tasks()], processes=1))
    assert other.read_bytes() != archive.read_bytes()


def test_the_archive_has_the_layout_of_the_published_one(archive: Path) -> None:
    with tarfile.open(archive) as members:
        names = members.getnames()
    folder = "losslake_bundled/digits/mlp_16/nesterov_momentum"
    assert names == [
        f"{folder}/{size}/{name}"
        for size in (4, 8)
        for name in (
            "study.json",
            "1/metadata.json",
            "1/measurements.csv",
            "2/metadata.json",
            "2/measurements.csv",
        )
    ]


def test_files_carry_no_time_and_no_owner(archive: Path) -> None:
    with tarfile.open(archive) as members:
        assert {(member.mtime, member.uid, member.gid, member.uname) for member in members} == {(0, 0, 0, "")}


def test_study_json_and_metadata_json_have_the_published_fields(archive: Path) -> None:
    study = read_archive(archive)["digits/mlp_16/nesterov_momentum"][4]
    assert study.description == {
        "batch_size": 4,
        "dataset": "digits",
        "early_stopping": False,
        "model": "mlp_16",
        "optimizer": "nesterov_momentum",
        "parameter_configs": {
            "learning_rate": {
                "feasible_points": [],
                "max_value": 0.32,
                "min_value": 0.0032,
                "scale": "LOG_SCALE",
                "type": "DOUBLE",
            },
            "momentum": {
                "feasible_points": [],
                "max_value": 0.98,
                "min_value": 0.0,
                "scale": "REVERSE_LOG_SCALE",
                "type": "DOUBLE",
            },
        },
        "train_steps": 14,
    }
    metadata = study.trials[2].metadata
    assert sorted(metadata) == ["parameters", "status", "steps", "trial_id"]
    assert (metadata["status"], metadata["steps"], metadata["trial_id"]) == ("COMPLETE", 14, 2)
    assert sorted(metadata["parameters"]) == ["learning_rate", "momentum"]


def test_measurements_start_at_step_0_and_have_six_metrics(archive: Path) -> None:
    trial = read_archive(archive)["digits/mlp_16/nesterov_momentum"][8].trials[1]
    assert trial.header == ["step"] + [
        f"{split}/{quantity}"
        for split in ("train", "val", "test")
        for quantity in ("classification_error", "cross_entropy_error")
    ]
    assert [int(row[0]) for row in trial.rows] == list(range(14))
    errors = [value * 300 for _, value in trial.curve("val/classification_error")]
    assert errors == pytest.approx([round(error) for error in errors], abs=1e-3)


def test_values_have_six_significant_digits() -> None:
    trial = Trial(1, {}, curve=[(0, (1 / 3, 2e30)), (5, (0.0, 12.0))])
    assert measurements(["a", "b"], trial) == b"step,a,b\n0,0.333333,2e+30\n5,0,12\n"


def test_failed_run_leaves_no_archive(tmp_path: Path) -> None:
    file = tmp_path / "broken.tar.bz2"
    with pytest.raises(KeyError, match="missing"):
        write_archive(file, (files[name] for files in [{"a": ("a", b"")}] for name in ("a", "missing")))
    assert not file.exists()


def test_the_command_trains_what_its_flags_ask_for() -> None:
    flags = ["--output", "x", "--workload", "digits/softmax/sgd", "--batch-size", "2", "--trials", "4", "--seed", "9"]
    ((workload, batch_size, seed),) = chosen_tasks(parser().parse_args(flags))
    assert (workload.path, workload.trials, batch_size, seed) == ("digits/softmax/sgd", 4, 2, 9)
    with pytest.raises(SystemExit, match="unknown workload"):
        chosen_tasks(parser().parse_args(["--output", "x", "--workload", "digits/softmax/adam"]))


def test_without_flags_the_command_trains_eleven_workloads_at_eleven_batch_sizes() -> None:
    tasks = chosen_tasks(parser().parse_args(["--output", "x"]))
    assert len({workload.path for workload, _, _ in tasks}) == 11
    assert len(tasks) == 121
    assert {workload.trials for workload, _, _ in tasks} == {64}
    assert json.dumps(sorted({size for _, size, _ in tasks})) == json.dumps([2**power for power in range(11)])
