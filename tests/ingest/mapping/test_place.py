"""The place of a run: its study, trial, status, goals and collection, or everything that is lacking at once."""

from __future__ import annotations

import json

import numpy as np
import pytest

from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.contracts.run_log import LoggedGoal, LoggedRows, RunLog
from losslake_ingest.mapping.mapping import parse_mapping
from losslake_ingest.mapping.place import STATUS_ASSUMED, PlacedRun, place

ROWS = [LoggedRows({"step": np.array([0.0, 10.0]), "val/loss": np.array([2.0, 1.0])})]
BASE = """
[collection]
name = "mine"
licence = "CC0"
[run]
dataset = "mnist"
model = "{arch}"
optimizer = "{optim}"
batch_size = "{bs}"
[path]
patterns = ["{arch}/b{bs:int}/{name}"]
[fields]
optim = "sgd"
[[axis]]
column = "step"
"""


def placed(text: str = "", base: str = BASE, **log: object) -> PlacedRun:
    run = RunLog(**{"run": "cnn/b64/log.csv", "files": {"cnn/b64/log.csv": "0" * 64}, "rows": ROWS} | log)  # type: ignore[arg-type]
    return place(run, parse_mapping((base + text).encode(), "losslake.toml"), "home/me/runs", {})


def refused(text: str = "", base: str = BASE, **log: object) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        placed(text, base, **log)
    return refusal.value


def test_the_study_comes_from_constants_fields_and_the_path() -> None:
    run = placed()
    assert str(run.study) == "mine/mnist/cnn/sgd/64"
    assert (run.collection.collection, run.collection.licence) == ("mine", "CC0")
    assert run.facts.batch_unit == "examples"
    assert run.attributes == {"arch": '"cnn"', "bs": "64", "name": '"log.csv"'}


def test_path_overrides_the_log_and_the_log_overrides_constants() -> None:
    run = placed(fields={"optim": "adam", "arch": "mlp"})
    assert str(run.study) == "mine/mnist/cnn/adam/64"


def test_lookup_fills_in_missing_fields() -> None:
    text = "[[lookup]]\nfile = 't.csv'\nkeys = ['arch', 'bs']\n[parameters]\nlearning_rate = '{lr}'"
    mapping = parse_mapping((BASE + text).encode(), "m", {"t.csv": b"arch,bs,lr,optim\ncnn,64,0.5,lion\n"}.get)
    run = place(RunLog("cnn/b64/x", {}, ROWS), mapping, "s", {})
    assert run.study.workload.optimizer == "lion"
    assert run.parameters["learning_rate"] == 0.5


@pytest.mark.parametrize(
    ("text", "number"),
    [("0.5", 0.5), ("640", 640.0), ("-1e-3", -0.001), ("0", 0.0), ("1.5E+2", 150.0)],
)
def test_metaparameters_that_a_field_spells_as_text_are_numbers(text: str, number: float) -> None:
    run = placed("[parameters]\nstated = '{lr}'", fields={"lr": text})
    assert run.parameters["stated"] == number
    assert "stated" not in run.attributes


@pytest.mark.parametrize(
    "text", ["007", "1,000", "1_000", "inf", "nan", "0x10", "1.", ".5", "", "1e500", "1" * 16, "v100"]
)
def test_metaparameters_of_other_texts_stay_texts(text: str) -> None:
    run = placed("[parameters]\nstated = '{lr}'", fields={"lr": text})
    assert run.attributes["stated"] == json.dumps(text)
    assert "stated" not in run.parameters


def test_all_missing_fields_are_named_at_once_with_the_lines_to_add() -> None:
    refusal = refused(base="[run]\nmodel = '{net}'")
    assert refusal.rule == Rule.MISSING_FACT
    assert [field.add.partition("   #")[0] for field in refusal.missing] == [
        'name = "…"',
        'dataset = "…"',
        'net = "…"',
        'optimizer = "…"',
        'batch_size = "…"',
    ]
    assert "\n" not in refusal.message


@pytest.mark.parametrize("size", ["0", "-1", "6.5", "'many'", "true", "1e300", "9223372036854775808"])
def test_a_batch_size_is_an_integer_above_zero(size: str) -> None:
    refusal = refused(base=BASE.replace('"{bs}"', size))
    assert refusal.rule == Rule.BAD_FACT
    assert "batch size" in refusal.message


def test_unsafe_name_is_refused() -> None:
    assert refused(fields={"optim": "../../etc"}).rule == Rule.BAD_NAME
    assert refused(base=BASE.replace('"mine"', '"a//b"')).rule == Rule.BAD_NAME


def test_a_status_is_translated_by_the_mapping_and_an_unknown_one_is_refused() -> None:
    text = "[status]\nfinished = 'COMPLETE'\ncrashed = 'INFEASIBLE'"
    assert placed(text, status="crashed").status == "INFEASIBLE"
    assert placed(text, status="INCOMPLETE").status == "INCOMPLETE"
    assert refused(text, status="odd").rule == Rule.UNKNOWN_STATUS


def test_a_run_that_does_not_say_how_it_ended_is_complete_and_counted() -> None:
    run = placed()
    assert (run.status, run.remarks[STATUS_ASSUMED]) == ("COMPLETE", 1)
    assert STATUS_ASSUMED not in placed(status="COMPLETE").remarks


def test_numbers_that_float64_holds_are_parameters_and_everything_else_is_an_attribute() -> None:
    run = placed(parameters={"lr": 0.1, "layers": 3, "seed": 2**60, "name": "x", "amp": True})
    assert run.parameters == {"lr": 0.1, "layers": 3.0}
    assert {key: run.attributes[key] for key in ("seed", "amp")} == {"seed": str(2**60), "amp": "true"}


def test_goals_of_the_log_and_of_the_mapping_come_with_their_source() -> None:
    text = "[[goal]]\nmetric = 'val/loss'\ntarget = '{target}'\nsource = 'table 3'"
    logged = [LoggedGoal("val/loss", 0.5, "the log"), LoggedGoal("unknown", 0.5, "the log")]
    run = placed(text, goals=logged, fields={"target": 0.25})
    assert [(goal.metric, goal.target, goal.source) for goal in run.goals] == [
        ("val/loss", 0.5, "the log"),
        ("val/loss", 0.25, "table 3"),
    ]
    assert placed(text).goals == ()
    assert refused(text, fields={"target": "low"}).rule == Rule.BAD_FACT


def test_a_goal_replaces_the_wrong_target_that_a_log_states() -> None:
    text = "[[goal]]\nmetric = 'val/loss'\ntarget = 0.25\nreplaces = 0.5\nsource = 'the code'"
    wrong, right = LoggedGoal("val/loss", 0.5, "the log"), LoggedGoal("val/loss", 0.75, "the log")
    run = placed(text, goals=[wrong, right])
    assert [(goal.target, goal.source) for goal in run.goals] == [(0.75, "the log"), (0.25, "the code")]


def test_attributes_of_the_mapping_replace_those_of_the_path_and_are_no_metaparameters() -> None:
    text = "[attributes]\narch = 'CNN'\nlog = 'https://host/{path_in_repository}'\nlacks = '{nothing}'"
    run = placed(text, parameters={"lr": 0.5, "name": "x"})
    assert {key: run.attributes.get(key) for key in ("arch", "name", "lacks")} == {
        "arch": '"CNN"', "name": '"x"', "lacks": None,
    }  # fmt: skip
    assert "arch" in run.labels
    assert "name" not in run.labels
    assert "log" not in run.attributes  # no root is stated


@pytest.mark.parametrize(
    ("roots", "run", "files", "expected"),
    [
        (["repo*"], "repo v1/a b/r#1.txt", 1, "a%20b/r%231.txt"),
        (["repo*"], "repo.tar/repo/x/r.txt", 1, "x/r.txt"),
        (["v0", "repo*"], "repo/v0/x/r.txt", 1, "x/r.txt"),
        (["v0", "repo*"], "repo/x/r.txt", 1, "x/r.txt"),
        (["runs"], "x/r.csv#seed3", 1, "x/r.csv"),
        (["repo"], "repo/x/trial", 2, "x/trial"),
        (["repo"], "x/r.txt", 1, None),
    ],
)
def test_the_path_in_the_repository_is_what_follows_its_root(
    roots: list[str], run: str, files: int, expected: str | None
) -> None:
    base = BASE.replace("[fields]", f"roots = {json.dumps(roots)}\n[fields]\narch = 'cnn'\nbs = 64")
    file = run.removesuffix("#seed3")
    log = {"run": run, "files": {file: "0" * 64} if files == 1 else {f"{run}/{n}": "0" * 64 for n in range(files)}}
    found = placed("[attributes]\npath = '{path_in_repository}'", base, **log).attributes.get("path")
    assert found == (None if expected is None else json.dumps(expected))


def test_a_trial_id_of_the_mapping_is_an_integer() -> None:
    assert placed("", BASE.replace("[run]", "[run]\ntrial_id = '{bs}'")).trial_id == 64
    assert refused("", BASE.replace("[run]", "[run]\ntrial_id = '{name}'")).rule == Rule.BAD_FACT
    assert refused("", BASE.replace("[run]", "[run]\ntrial_id = '{seed}'")).rule == Rule.MISSING_FACT


def test_a_trial_id_in_the_path_needs_no_line() -> None:
    base = BASE.replace("{name}", "seed{trial_id:int}")
    assert placed("", base, run="cnn/b64/seed3").trial_id == 3
    assert placed("", base.replace("[run]", "[run]\ntrial_id = 5"), run="cnn/b64/seed3").trial_id == 5
    assert placed("", fields={"trial_id": "e3f1a"}).trial_id is None


WHEN = """
[[when]]
if = { arch = ["cnn", "rnn*"], bs = 64 }
run = { dataset = "cifar_10", batch_unit = "tokens" }
fields = { optim = "adam" }
[[when]]
if = { arch = "*" }
run = { dataset = "other", train_steps = 7 }
"""


def test_conditional_sections_come_before_the_rest_and_the_first_that_holds_comes_first() -> None:
    run = placed(WHEN)
    assert str(run.study) == "mine/cifar_10/cnn/adam/64"
    assert (run.facts.batch_unit, run.facts.train_steps) == ("tokens", 7)
    assert str(placed(WHEN, run="rnn2/b64/log.csv").study) == "mine/cifar_10/rnn2/adam/64"
    assert str(placed(WHEN, run="cnn/b32/log.csv").study) == "mine/other/cnn/sgd/32"


def test_a_condition_on_an_unknown_field_does_not_hold() -> None:
    run = placed("[[when]]\nif.absent = '*'\nrun.dataset = 'other'")
    assert run.study.workload.dataset == "mnist"


def test_the_line_for_a_missing_fact_leaves_runs_alone_that_know_it() -> None:
    base = BASE.replace('model = "{arch}"\n', "")
    refusal = refused(base=base)
    (missing,) = refusal.missing
    line = missing.add.partition("   #")[0].replace("…", "default")
    text = f"[fields]\n{line}\noptim = 'sgd'\n"
    base = base.replace('[fields]\noptim = "sgd"\n', text)
    assert placed(base=base).study.workload.model == "default"
    assert placed(base=base, fields={"model": "own"}).study.workload.model == "own"


@pytest.mark.parametrize("name", ["model", "dataset", "optimizer", "batch_size", "collection"])
def test_conditions_see_what_run_and_collection_give(name: str) -> None:
    value = {"model": "cnn", "dataset": "mnist", "optimizer": "sgd", "batch_size": 64, "collection": "mine"}[name]
    text = f"[[when]]\nif = {{ {name} = {value!r} }}\nparameters = {{ held = 1 }}"
    assert placed(text).parameters == {"held": 1.0}


def test_conditions_see_the_field_before_what_run_gives() -> None:
    text = "[[when]]\nif = { model = 'raw' }\nparameters = { held = 1 }"
    assert placed(text, fields={"model": "raw"}).parameters == {"held": 1.0}
    assert placed(text.replace("raw", "cnn"), fields={"model": "raw"}).parameters == {}
