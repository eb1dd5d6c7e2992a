"""Logs with equal values at equal steps are of one run, in whatever format or spelling."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.bundles.writing import write_bundle
from losslake_ingest.contracts.report import Summary
from losslake_ingest.releases.withdrawal import withdraw
from losslake_ingest.run import ingest
from tests.ingest.offers import Files, unpacked
from tests.ingest.stored_rows import stored_rows

MAPPING = """
collection = {name = "c"}
run = {dataset = "d", model = "m", optimizer = "o", batch_size = 8}
path = {patterns = ["seed{seed}/*"]}
metrics = {loss = "val/cross_entropy_error", accuracy = "val/accuracy"}
"""
KEPT = MAPPING.replace("batch_size = 8", 'batch_size = 8, repeats = "keep"')
SEEDED = MAPPING + 'parameters = {seed = "{seed}"}\n'
LOSSES = (0.9, 0.7, 0.5, 0.25)
OTHER_FACTS = "run with the curve of another trial of its study, but other metaparameters: both are stored"


def csv(losses: Sequence[object], column: str = "loss") -> bytes:
    return "".join([f"step,{column}\n", *(f"{100 * n},{each}\n" for n, each in enumerate(losses))]).encode()


def jsonl(losses: Sequence[float]) -> bytes:
    return "".join(json.dumps({"loss": each, "step": 100 * n}) + "\n" for n, each in enumerate(losses)).encode()


def spelled(losses: Sequence[float]) -> bytes:
    """Return a CSV in which 0.9 is .90."""
    return csv([f"{each:.2f}".lstrip("0") for each in losses])


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.create(tmp_path / "lake")


def offer(lake: Lake, folder: Path, files: Files, mapping: str = MAPPING) -> Summary:
    return ingest(lake, [unpacked(folder, {"losslake.toml": mapping.encode(), **files})])


def sources(lake: Lake) -> dict[int, tuple[str, list[str]]]:
    """Return the path of each trial's log and those of its copies."""
    copies = stored_rows(lake, "copies")
    return {
        row["trial_id"]: (row["source"], [copy["source"] for copy in copies if copy["trial_id"] == row["trial_id"]])
        for row in stored_rows(lake, "trials")
    }


@pytest.mark.parametrize(("name", "other"), [("b.jsonl", jsonl(LOSSES)), ("b.csv", spelled(LOSSES))])
def test_the_same_run_in_another_log_counts_once(lake: Lake, tmp_path: Path, name: str, other: bytes) -> None:
    files = {"seed1/a.csv": csv(LOSSES), f"seed1/{name}": other}
    summary = offer(lake, tmp_path / "logs", files)
    assert sources(lake) == {1: ("seed1/a.csv", [f"seed1/{name}"])}
    (copy,) = summary.quarantined
    assert (copy.rule, copy.path, copy.study) == ("duplicate_source", f"seed1/{name}", "c/d/m/o/8")
    assert copy.message == (
        "the run of seed1/a.csv, which is trial c/d/m/o/8/1, in another log: equal values at equal steps count once; "
        'if the run was repeated, with one seed, add to the mapping: repeats = "keep"   # under [run]; it keeps both'
    )
    again = offer(lake, tmp_path / "logs", files | {"note.txt": b""})
    assert (again.published, again.quarantined) == (False, summary.quarantined)
    offer(lake, tmp_path / "logs", files, KEPT)
    assert sources(lake) == {1: ("seed1/a.csv", []), 2: (f"seed1/{name}", [])}
    offer(lake, tmp_path / "logs", files)
    assert sources(lake) == {1: ("seed1/a.csv", [f"seed1/{name}"])}


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_ingests_decides_only_which_log_is_the_trials(lake: Lake, tmp_path: Path, order: int) -> None:
    logs = [("seed1/a.csv", csv(LOSSES)), ("seed1/b.jsonl", jsonl(LOSSES)), ("seed1/c.csv", spelled(LOSSES))][::order]
    for number, (path, data) in enumerate(logs):
        summary = offer(lake, tmp_path / str(number), {path: data, f"seed1/own{number}.csv": csv([*LOSSES, number])})
        assert len(summary.quarantined) == (number > 0)
    paths = [path for path, _ in logs]
    expected = {1: (paths[0], sorted(paths[1:]))} | {number: (f"seed1/own{number - 2}.csv", []) for number in (2, 3, 4)}
    assert sources(lake) == expected
    for number, (path, data) in enumerate(logs):
        assert not offer(lake, tmp_path / str(number), {path: data, "note.txt": b""}).published
    offer(lake, tmp_path / "2", dict(logs[2:]), KEPT)
    assert sources(lake)[1] == (paths[0], [paths[1]])
    assert sources(lake)[5] == (paths[2], [])


def test_runs_with_other_metaparameters_are_two_trials_and_remarked(lake: Lake, tmp_path: Path) -> None:
    files = {"seed1/a.csv": csv(LOSSES), "seed2/a.csv": spelled(LOSSES), "seed2/b.jsonl": jsonl(LOSSES)}
    summary = offer(lake, tmp_path / "logs", files, SEEDED)
    both = {1: ("seed1/a.csv", []), 2: ("seed2/a.csv", ["seed2/b.jsonl"])}
    assert sources(lake) == both
    assert dict(summary.sources[0].remarks)[f"{OTHER_FACTS} (first in seed2/a.csv)"] == 1
    later = offer(lake, tmp_path / "later", {"seed3/a.csv": spelled(LOSSES), "seed1/b.csv": spelled(LOSSES)}, SEEDED)
    assert sources(lake) == both | {1: ("seed1/a.csv", ["seed1/b.csv"]), 3: ("seed3/a.csv", [])}
    assert dict(later.sources[0].remarks)[f"{OTHER_FACTS} (first in seed3/a.csv)"] == 1


NAN = float("nan")


@pytest.mark.parametrize(
    "losses", [LOSSES[:3], (0.9,) * 9, (NAN,) * 9, (0.9, 0.7, 0.5, NAN, NAN)], ids=["short", "same", "nan", "diverged"]
)
def test_curves_that_could_agree_by_chance_are_two_trials(lake: Lake, tmp_path: Path, losses: list[float]) -> None:
    summary = offer(lake, tmp_path / "logs", {"seed1/a.csv": csv(losses), "seed1/b.jsonl": jsonl(losses)})
    assert summary.quarantined == ()
    assert sources(lake) == {1: ("seed1/a.csv", []), 2: ("seed1/b.jsonl", [])}


def test_equal_schedules_of_diverged_runs_are_no_equal_curves(lake: Lake, tmp_path: Path) -> None:
    mapping = MAPPING.replace("metrics = {", 'metrics = {lr = "train/learning_rate", ')
    rows = [(100 * n, 0.1 / (n + 1)) for n in range(9)]
    table = "step,loss,lr\n" + "".join(f"{step},nan,{lr!r}\n" for step, lr in rows)
    lines = "".join(json.dumps({"step": step, "loss": NAN, "lr": lr}) + "\n" for step, lr in rows)
    files = {"seed1/a.csv": table.encode(), "seed2/a.jsonl": lines.encode()}
    offer(lake, tmp_path / "logs", files, mapping)
    assert sources(lake) == {1: ("seed1/a.csv", []), 2: ("seed2/a.jsonl", [])}


def test_logs_of_other_metrics_or_steps_or_studies_are_two_trials(lake: Lake, tmp_path: Path) -> None:
    both = b"step,loss,accuracy\n" + b"".join(b"%d,%r,0.5\n" % (100 * n, each) for n, each in enumerate(LOSSES))
    files = {"a.csv": csv(LOSSES), "b.csv": csv(LOSSES, "accuracy"), "c.csv": both, "d.csv": csv(LOSSES[::-1])}
    offer(lake, tmp_path / "logs", files)
    assert len(sources(lake)) == 4
    summary = offer(lake, tmp_path / "other", {"e.jsonl": jsonl(LOSSES)}, MAPPING.replace('"m"', '"n"'))
    assert (summary.trials_ingested, summary.quarantined) == (1, ())


def test_a_formula_of_a_metric_is_no_metaparameter(lake: Lake, tmp_path: Path) -> None:
    percent = MAPPING + '[[when]]\nif = {seed = "2"}\nmetrics = {percent = {metric = "val/accuracy", scale = 0.01}}\n'
    files = {"seed1/a.csv": csv(LOSSES, "accuracy"), "seed2/b.csv": csv([100 * each for each in LOSSES], "percent")}
    offer(lake, tmp_path / "logs", files, percent)
    assert sources(lake) == {1: ("seed1/a.csv", ["seed2/b.csv"])}


def test_a_condition_can_keep_some_repeats(lake: Lake, tmp_path: Path) -> None:
    some = MAPPING + '[[when]]\nif = {seed = "2"}\nrun = {repeats = "keep"}\n'
    files = {"seed1/a.csv": csv(LOSSES), "seed1/b.csv": spelled(LOSSES), "seed2/c.jsonl": jsonl(LOSSES)}
    offer(lake, tmp_path / "logs", files, some)
    assert sources(lake) == {1: ("seed1/a.csv", ["seed1/b.csv"]), 2: ("seed2/c.jsonl", [])}


def test_a_bundle_keeps_the_trials_that_it_has(lake: Lake, tmp_path: Path) -> None:
    files = {"seed1/a.csv": csv(LOSSES), "seed1/b.jsonl": jsonl(LOSSES)}
    offer(lake, tmp_path / "logs", files, KEPT)
    write_bundle(lake, lake.release(), tmp_path / "c.tar", "somewhere")
    other = Lake.create(tmp_path / "other")
    ingest(other, [tmp_path / "c.tar"])
    assert sources(other) == sources(lake) == {1: ("seed1/a.csv", []), 2: ("seed1/b.jsonl", [])}
    assert not ingest(other, [tmp_path / "c.tar"]).published
    offer(other, tmp_path / "later", {"seed1/c.csv": spelled(LOSSES)})
    assert sources(other) == {1: ("seed1/a.csv", ["seed1/c.csv"]), 2: ("seed1/b.jsonl", [])}


def test_withdrawing_a_trial_leaves_its_other_logs_out(lake: Lake, tmp_path: Path) -> None:
    files = {"seed1/a.csv": csv(LOSSES), "seed1/b.jsonl": jsonl(LOSSES), "seed1/c.csv": csv([*LOSSES, 0.1])}
    offer(lake, tmp_path / "logs", files)
    withdraw(lake, ["c/d/m/o/8/1"], "wrong", "ada")
    summary = offer(lake, tmp_path / "logs", files | {"note.txt": b""})
    assert sources(lake) == {2: ("seed1/c.csv", [])}
    assert {each.rule for each in summary.quarantined} == {"withdrawn"}


def test_two_logs_that_grow_to_one_curve_become_one_trial(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "logs", {"seed1/a.csv": csv(LOSSES), "seed1/b.jsonl": jsonl(LOSSES[:3])})
    assert sources(lake) == {1: ("seed1/a.csv", []), 2: ("seed1/b.jsonl", [])}
    grown = (*LOSSES, 0.2)
    files = {"seed1/a.csv": csv(grown), "seed1/b.jsonl": jsonl(grown)}
    summary = offer(lake, tmp_path / "logs", files)
    assert sources(lake) == {1: ("seed1/a.csv", ["seed1/b.jsonl"])}
    assert [(str(one), str(other)) for one, other in summary.moved.items()] == [("c/d/m/o/8/2", "c/d/m/o/8/1")]
    assert not offer(lake, tmp_path / "logs", files | {"note.txt": b""}).published
