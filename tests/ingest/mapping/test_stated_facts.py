"""Facts that a log states are checked against the mapping and the path; each refusal is settled by its line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from losslake_ingest.contracts.run_log import Scalar
from losslake_ingest.mapping.stated_facts import facts_among, multipliers, stated_numbers
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import IngestPlan, plan_ingest

BASE = 'collection.name = "c"\nrun.dataset = "d"\nrun.model = "m"\nrun.optimizer = "o"\n'
CURVE = "step,val/loss\n1,2\n2,1\n"


def planned(folder: Path, mapping: str, config: object = None, **files: str) -> IngestPlan:
    """The plan for a log `a.csv`, unless there are other files, beside a configuration."""
    shutil.rmtree(folder, ignore_errors=True)
    texts = {"losslake.toml": BASE + mapping, "config.json": json.dumps(config or {}), **(files or {"a.csv": CURVE})}
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return plan_ingest(None, [folder], Request())


def sizes(plan: IngestPlan) -> list[int]:
    assert not plan.quarantined, plan.quarantined
    return [study.batch_size for study in plan.studies]


def refused(plan: IngestPlan) -> tuple[str, str, str]:
    """The path and rule of the only refusal, and the line to add to the mapping."""
    assert not plan.studies
    ((item,), (missing,)) = plan.quarantined, plan.missing
    assert item.message.startswith(missing.what)
    assert missing.add.partition("   #")[0].splitlines()[0] in item.message
    return item.path, str(item.rule), missing.add


def test_another_constant_than_the_batch_size_of_the_log_is_refused(tmp_path: Path) -> None:
    rows = "".join(f'{{"step": {step}, "batch_size": 32, "val/loss": {1 / step}}}\n' for step in range(1, 9))
    plan = planned(tmp_path / "a", "run.batch_size = 64\n", **{"a.jsonl": rows})
    path, rule, line = refused(plan)
    assert (path, rule) == ("a.jsonl", "facts_disagree")
    assert "the log states batch_size = 32, and the mapping a batch size of 64" in plan.quarantined[0].message
    assert line.startswith('batch_size = "{batch_size * 2}"   # under [run]; ')
    assert sizes(planned(tmp_path / "a", f"run.{line}", **{"a.jsonl": rows})) == [64]
    other = 'run.batch_size = "{true_size}"\nfields.true_size = 48\n'
    assert (
        '"{true_size}" with true_size = 48 under [fields]'
        in refused(planned(tmp_path / "a", "run.batch_size = 48\n", {"batch_size": 32}))[2]
    )
    assert sizes(planned(tmp_path / "a", other, {"batch_size": 32})) == [48]


@pytest.mark.parametrize(
    ("mapping", "config", "expected"),
    [
        ("run.batch_size = 64", {"batch_size": 32, "devices": 2}, 64),
        ("run.batch_size = 256", {"bs": 8, "opt": {"accum_iter": "4"}, "WORLD_SIZE": 8}, 256),
        ("run.batch_size = 32", {"bs": 8, "accum_iter": 4, "world_size": 8}, 32),
        ("run.batch_size = 8", {"bs": 8, "accum_iter": 4, "world_size": 8}, 8),
        ("run.batch_size = 96", {"bs": 8, "effective_batch_size": 96}, 96),
        ("run.batch_size = 64", {"per_device_train_batch_size": 8}, 64),  # on 8 of them
        ("run.batch_size = 491520\nrun.batch_unit = 'tokens'", {"batch_size": 12}, 491520),
        ("run.batch_size = 1048576\nrun.batch_unit = 'tokens'", {"global_batch_size": 512}, 1048576),
        ("run.batch_size = 480", {"tokens_per_iter": 491520}, 480),
        ("", {"batch_size": 12, "tokens_per_iter": 12288}, 12),
        ("fields.batch_size = 64", {"batch_size": 32}, 32),
        ("fields.batch_size = 64", {"eval": {"batch_size": 32}, "val/bs": 16, "batch_size_note": 1}, 64),
        ("", {"batch_size": 32, "devices": "auto", "gpus": 1, "num_nodes": 0, "accum_iter": True}, 32),
        ("", {"batch_size": 32, "world_size": -1, "gpus": [0, 1]}, 32),
        ("", {"batch_size": 32, "devices": 4, "total_batch_size": 32}, 32),
        ("run.batch_size = '{global_batch_size}'", {"batch_size": 8, "global_batch_size": 96, "devices": 2}, 96),
        ("run.batch_size = '{batch_size * devices}'", {"batch_size": 8, "devices": 2, "accum_iter": 4}, 16),
        ("run.batch_size = '{mine|batch_size}'", {"batch_size": 8, "devices": 2, "mine": 5}, 5),
        ("run.batch_size = '{train_batch_size}'", {"train_batch_size": 8}, 8),
    ],
)
def test_what_the_log_does_not_contradict_is_believed(
    tmp_path: Path, mapping: str, config: object, expected: int
) -> None:
    assert sizes(planned(tmp_path / "a", mapping, config)) == [expected]


@pytest.mark.parametrize("mapping", ["", "run.batch_size = '{batch_size}'", "run.batch_size = '{mine|batch_size}'"])
def test_a_batch_size_beside_accumulation_and_devices_is_asked_for(tmp_path: Path, mapping: str) -> None:
    config = {"batch_size": 8, "gradient_accumulation_steps": 4, "world_size": 8, "n_gpu": 8}
    plan = planned(tmp_path / "a", mapping, config)
    path, rule, line = refused(plan)
    assert (path, rule) == ("a.csv", "missing_fact")
    assert "batch_size = 8 beside gradient_accumulation_steps = 4 and world_size = 8" in plan.quarantined[0].message
    product, _, rest = line.partition("   # under [run]; ")
    assert product == 'batch_size = "{batch_size * gradient_accumulation_steps * world_size}"'
    assert rest == 'or batch_size = "{batch_size * 1}" if it is of an update'
    for one, size in ((product, 256), ('batch_size = "{batch_size * 1}"', 8), ("batch_size = 8", 8)):
        assert sizes(planned(tmp_path / "a", f"run.{one}", config)) == [size]


def test_another_batch_size_than_that_of_the_run_is_refused(tmp_path: Path) -> None:
    config = {"batch_size": 8, "args": {"global_batch_size": 96}}
    path, rule, line = refused(planned(tmp_path / "a", "", config))
    assert (path, rule) == ("a.csv", "facts_disagree")
    assert sizes(planned(tmp_path / "a", f"run.{line}", config)) == [96]
    assert sizes(planned(tmp_path / "a", "run.batch_size = '{batch_size * 1}'", config)) == [8]
    assert refused(planned(tmp_path / "a", "run.batch_size = 100", config))[2].startswith(
        'batch_size = "{args.global_batch_size}"'
    )


@pytest.mark.parametrize("config", [{"batch_size": 32}, {"bs": 32}])
def test_another_batch_size_in_the_path_is_refused(tmp_path: Path, config: object) -> None:
    patterns = 'path.patterns = ["b{batch_size:int}/a.csv"]\n'
    path, rule, line = refused(planned(tmp_path / "a", patterns, config, **{"b64/a.csv": CURVE}))
    assert (path, rule) == ("b64/a.csv", "facts_disagree")
    if config == {"batch_size": 32}:
        assert "{path_batch_size:int} for {batch_size:int} in patterns under [path]" in line
        patterns = patterns.replace("{batch_size:int}", "{path_batch_size:int}")
    assert sizes(planned(tmp_path / "a", f"{patterns}run.{line}", config, **{"b64/a.csv": CURVE})) == [64]
    assert sizes(planned(tmp_path / "a", patterns, {"batch_size": 64}, **{"b64/a.csv": CURVE})) == [64]


def test_a_batch_size_in_the_path_and_the_log_may_be_that_of_one_process(tmp_path: Path) -> None:
    patterns, log = 'path.patterns = ["b{batch_size:int}/a.csv"]\n', {"b8/a.csv": CURVE}
    path, rule, line = refused(planned(tmp_path / "a", patterns, {"bs": 8, "gpus": 4}, **log))
    assert (path, rule) == ("b8/a.csv", "missing_fact")
    assert sizes(planned(tmp_path / "a", f"{patterns}run.{line}", {"bs": 8, "gpus": 4}, **log)) == [32]
    assert sizes(planned(tmp_path / "a", patterns, {"bs": 2, "gpus": 4}, **log)) == [8]
    assert sizes(planned(tmp_path / "a", patterns, {"gpus": 4}, **log)) == [8]


def test_a_batch_size_that_changes_is_refused_with_its_steps(tmp_path: Path) -> None:
    rows = [f'{{"step": {s}, "batch_size": {64 if s < 5 else 128}, "val/loss": {1 / (s + 1)}}}\n' for s in range(10)]
    plan = planned(tmp_path / "a", "run.batch_size = 64\n", **{"a.jsonl": "".join(rows)})
    path, rule, line = refused(plan)
    assert (path, rule) == ("a.jsonl", "facts_disagree")
    assert "batch_size is 64 up to step 4 and 128 from step 5: a schedule" in plan.quarantined[0].message
    kept = planned(tmp_path / "a", f"run.batch_size = 64\n[metrics]\n{line}", **{"a.jsonl": "".join(rows)})
    assert sizes(kept) == [64]


def test_a_schedule_names_its_column_and_its_first_values_only(tmp_path: Path) -> None:
    rows = "step,train/bs,val/loss\n" + "".join(f"{s},{8 * s if s % 2 else ''},{1 / s}\n" for s in range(1, 10))
    plan = planned(tmp_path / "a", "run.batch_size = 64\n", **{"a.csv": rows})
    assert (
        "train/bs is 8 up to step 1 and 24 from step 3 and 40 from step 5 and so on, 4 times"
        in plan.quarantined[0].message
    )
    assert refused(plan)[2].startswith('"train/bs" = ""   # under [metrics]')


def test_the_number_of_a_batch_is_no_batch_size(tmp_path: Path) -> None:
    rows = "step,batch,eval_batch_size,val/loss\n1,1,8,2\n2,2,9,1\n"
    assert sizes(planned(tmp_path / "a", "run.batch_size = 64\n", **{"a.csv": rows})) == [64]


def test_another_seed_in_the_path_is_refused(tmp_path: Path) -> None:
    mapping, log = 'run.batch_size = 8\npath.patterns = ["s{seed:int}/a.csv"]\n', {"s3/a.csv": CURVE}
    for config in ({"seed": 3}, {"data": {"seed": 1}, "random_seed": 3}, {"note": 1}):
        assert sizes(planned(tmp_path / "a", mapping, config, **log)) == [8]
    plan = planned(tmp_path / "a", mapping, {"random_seed": 0}, **log)
    path, rule, line = refused(plan)
    assert (path, rule) == ("s3/a.csv", "facts_disagree")
    assert "the log states random_seed = 0, and the path seed = 3" in plan.quarantined[0].message
    assert line.startswith("{repetition:int} for {seed:int}   # in patterns under [path]")
    assert sizes(planned(tmp_path / "a", mapping.replace("{seed", "{repetition"), {"random_seed": 0}, **log)) == [8]


def test_another_number_of_steps_is_refused(tmp_path: Path) -> None:
    mapping = "run.batch_size = 8\nrun.train_steps = 3\n"
    for config in ({"max_steps": 3}, {"max_steps": -1}, {"total_steps": 4, "num_train_steps": 3}):
        assert sizes(planned(tmp_path / "a", mapping, config)) == [8]
    plan = planned(tmp_path / "a", mapping, {"trainer": {"max_steps": 4}})
    path, rule, line = refused(plan)
    assert (path, rule) == ("a.csv", "facts_disagree")
    assert "the log states trainer.max_steps = 4, and the mapping train_steps = 3" in plan.quarantined[0].message
    for right in (f"run.{line}", 'run.train_steps = "{true_steps}"\nfields.true_steps = 3'):
        assert sizes(planned(tmp_path / "a", f"run.batch_size = 8\n{right}", {"trainer": {"max_steps": 4}})) == [8]


def test_epochs_far_beyond_their_stated_number_are_refused(tmp_path: Path) -> None:
    def rows(last: int) -> dict[str, str]:
        return {"a.csv": "epoch,val/loss\n" + "".join(f"{epoch},{1 / epoch}\n" for epoch in range(1, last + 1))}

    mapping = "run.batch_size = 8\nfields.examples_per_epoch = 80\n"
    for config, last in (({"epochs": 10}, 10), ({"epochs": 10}, 20), ({"epochs": 5, "max_epochs": 10}, 20)):
        assert sizes(planned(tmp_path / "a", mapping, config, **rows(last))) == [8]  # cooled down, or resumed
    plan = planned(tmp_path / "a", mapping, {"max_epochs": 10}, **rows(30))
    path, rule, line = refused(plan)
    assert (path, rule) == ("a.csv", "facts_disagree")
    assert "the log states max_epochs = 10, and epoch goes up to 30" in plan.quarantined[0].message
    for right in (line, "run.train_steps = 300"):
        assert sizes(planned(tmp_path / "a", f"{mapping}{right}", {"max_epochs": 10}, **rows(30))) == [8]


def test_facts_are_integers_of_training_in_the_order_of_their_names() -> None:
    of_others: dict[str, Scalar] = {"test.batch_size": 2, "c{d}.bs": 3, "b / batch_size": 1}
    fields: dict[str, Scalar] = {"a.BS": 4.0, "x/batch-size": "8", **of_others, "bs": 1.5}
    facts = facts_among(fields)
    assert list(facts) == ["a.BS", "x/batch-size", "bs"]
    assert stated_numbers(facts, ("batch_size", "bs")) == {"x/batch-size": 8, "a.BS": 4}
    assert multipliers({"gpus": 8, "num_nodes": 2, "n_gpu": 4, "update_freq": 1}) == {
        "update_freq": 1, "gpus": 8, "num_nodes": 2,
    }  # fmt: skip
    assert multipliers({"gpus": 8, "num_nodes": 2, "world_size": 16}) == {"world_size": 16}
    assert multipliers({"gpus": 8, "world_size": 1, "accum_iter": 1, "update_freq": 4}) == {"update_freq": 4, "gpus": 8}
    assert multipliers({"world_size": 1}) == {"world_size": 1}
    many = {f"f{number}.devices": number for number in range(2, 1000)}
    assert len(stated_numbers(many, ("devices",))) == 12
