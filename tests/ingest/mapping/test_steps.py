"""Positions become steps in exact arithmetic, as a plain count of batches has it; epochs from 0 are never shifted."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_ingest.contracts.rules import BadMapping, Refusal, Rule
from losslake_ingest.contracts.run_log import Scalar
from losslake_ingest.mapping.mapping import Axis, parse_mapping
from losslake_ingest.mapping.steps import step_rule
from losslake_ingest.mapping.template import Template
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import IngestPlan, plan_ingest
from tests.ingest.formats.tensorboard_files import event, event_file, simple
from tests.ingest.offers import unpacked

RUN = '[collection]\nname = "mine"\n[run]\ndataset = "d"\nmodel = "m"\noptimizer = "o"\nbatch_size = 64\n'
MAPPING = f"{RUN}[fields]\nexamples_per_epoch = 1000\n"
ALL = np.array([True])


def steps_of(axis: Axis, batch_size: int, position: float, fields: dict[str, Scalar] | None = None) -> int:
    positions = np.array([position])
    return int(step_rule(axis, batch_size, fields or {}).steps(positions, ALL)[0])


def epochs(**keys: Scalar) -> Axis:
    return Axis("epoch", "epochs", **{name: Template(value) for name, value in keys.items()})  # type: ignore[arg-type]


def dry_run(folder: Path, files: dict[str, bytes], mapping: str = MAPPING) -> IngestPlan:
    return plan_ingest(None, [unpacked(folder, {**files, "losslake.toml": mapping.encode()})], Request())


def planned_steps(plan: IngestPlan) -> list[int]:
    (study,) = plan.studies.values()
    return [step for _, step, _ in study.first_rows]


def batches(n_examples: int, batch_size: int, last_batch: str, n_epochs: int) -> int:
    """The updates of a training loop, counted one by one."""
    updates = waiting = 0
    for _ in range(n_epochs):
        for _ in range(n_examples):
            waiting += 1
            if waiting == batch_size:
                updates, waiting = updates + 1, 0
        if last_batch == "kept" and waiting:
            updates += 1
        waiting = waiting if last_batch == "fractional" else 0
    return updates + (2 * waiting >= batch_size)  # to the nearest


@given(st.integers(1, 60), st.integers(1, 60), st.sampled_from(["kept", "dropped", "fractional"]), st.integers(1, 9))
def test_steps_of_epochs_are_the_batches_of_a_training_loop(size: int, batch: int, last: str, n_epochs: int) -> None:
    axis = epochs(epoch_size=size, last_batch=last)
    if last == "dropped" and size < batch:
        with pytest.raises(Refusal, match="no complete batch"):
            steps_of(axis, batch, n_epochs)
    else:
        assert steps_of(axis, batch, n_epochs) == batches(size, batch, last, n_epochs)


@given(st.integers(1, 2**40), st.integers(1, 2**20), st.integers(1, 10**7), st.integers(0, 3))
def test_steps_are_exact_where_products_of_float64_are_not(size: int, batch: int, tenths: int, offset: int) -> None:
    exact = (Fraction(tenths, 10) + offset) * Fraction(size, batch) + Fraction(1, 2)
    axis = epochs(epoch_size=size, last_batch="fractional", offset=offset)
    if exact < 2**53:
        assert steps_of(axis, batch, tenths / 10) == exact.__floor__()


@given(st.integers(1, 10**6), st.integers(1, 10**5), st.integers(1, 200), st.integers(0, 10**6))
def test_rounding_up_takes_the_first_step_after_so_many_examples(every: int, batch: int, nth: int, later: int) -> None:
    axis = Axis("nth", "examples", scale=Template(every), offset=Template(later), rounding="up")
    steps = steps_of(axis, batch, nth)
    assert (steps - 1) * batch < nth * every + later <= steps * batch


def test_rounding_is_of_examples_only() -> None:
    with pytest.raises(BadMapping, match=r'rounding is of counts = "examples", and .epoch. counts epochs'):
        parse_mapping(b'[[axis]]\ncolumn = "epoch"\ncounts = "epochs"\nepoch_size = 9\nrounding = "up"\n', "m")


def test_scale_and_offset_apply_before_the_unit() -> None:
    assert steps_of(Axis("k", scale=Template(1000)), 8, 0.3) == 300
    assert steps_of(Axis("step", offset=Template("{first}")), 8, 9, {"first": 1}) == 10
    assert steps_of(Axis("k", "examples", scale=Template(1000), offset=Template(24)), 8, 2) == 253
    assert steps_of(epochs(epoch_size=1000, offset=-1, last_batch="kept"), 64, 1.5) == 8  # HugeCTR: 1.05 is a twentieth
    rule = step_rule(epochs(epoch_size=1000, offset=1, last_batch="kept"), 64, {})
    assert rule.formula == "(epoch + 1) x ceil(1000 / 64)"
    with pytest.raises(Refusal) as refusal:
        steps_of(Axis("k", scale=Template(0.5)), 8, 3)
    assert refusal.value.rule == Rule.BAD_STEP


@pytest.mark.parametrize(
    ("key", "value"), [("offset", "x"), ("scale", 0), ("scale", "nan"), ("offset", True), ("last_batch", "{word}")]
)
def test_a_key_of_an_axis_that_is_no_number_refuses_the_run(key: str, value: Scalar) -> None:
    with pytest.raises(Refusal, match=key) as refusal:
        steps_of(epochs(epoch_size=10, **{key: value}), 1, 1, {"word": "padded"})
    assert refusal.value.rule == Rule.BAD_FACT


def test_last_batch_is_one_of_three_words() -> None:
    with pytest.raises(BadMapping, match="kept, dropped, fractional"):
        parse_mapping(b"[[axis]]\ncolumn = 'e'\ncounts = 'epochs'\nepoch_size = 5\nlast_batch = 'padded'", "m")


def test_dry_run_warns_of_an_unstated_last_batch_where_it_matters(tmp_path: Path) -> None:
    log = b"epoch,val/loss\n1,3.5\n2,2.5\n"
    plan = dry_run(tmp_path / "one", {"a.csv": log})
    (warning,) = [sentence for source in plan.sources for sentence, _ in source.remarks if "last_batch" in sentence]
    what = "an epoch of 1000 examples is counted as 15.625 batches of 64"
    ways = '"kept" (16 steps), "dropped" (15) or "fractional"'
    assert warning.startswith(f"{what}: say under [[axis]] last_batch = {ways}")
    for number, fields in enumerate(('epoch_last_batch = "kept"', "examples_per_epoch = 640")):
        mapping = f"{MAPPING}{fields}\n" if number == 0 else f"{RUN}[fields]\n{fields}\n"
        plan = dry_run(tmp_path / f"silent{number}", {"a.csv": log}, mapping)
        assert not [sentence for source in plan.sources for sentence, _ in source.remarks if "last_batch" in sentence]


def test_keras_csv_logger_evaluates_after_epoch_0_one_epoch_of_training(tmp_path: Path) -> None:
    log = b"epoch,accuracy,loss,val_accuracy,val_loss\r\n0,0.1,3.5,0.1,3\r\n1,0.2,2.5,0.25,2\r\n"
    plan = dry_run(tmp_path, {"training.csv": log})
    assert planned_steps(plan) == [16, 32]
    assert any("(epoch + 1)" in sentence for source in plan.sources for sentence, _ in source.remarks)


def test_fields_of_the_mapping_come_before_what_is_known_of_the_writer(tmp_path: Path) -> None:
    log = b"epoch,accuracy,loss,val_accuracy,val_loss\r\n0,0.1,3.5,0.1,3\r\n1,0.2,2.5,0.25,2\r\n"
    stated = f'{MAPPING}epoch_offset = 0\nepoch_last_batch = "dropped"\n'
    assert planned_steps(dry_run(tmp_path, {"training.csv": log}, stated)) == [0, 15]


def test_an_axis_of_the_mapping_keeps_the_formats_offset_unless_it_states_one(tmp_path: Path) -> None:
    log = b"epoch,loss,val_loss\n0,3.5,3\n1,2.5,2\n"
    axis = '[[axis]]\ncolumn = "epoch"\ncounts = "epochs"\nepoch_size = 1000\n'
    assert planned_steps(dry_run(tmp_path / "one", {"training.csv": log}, RUN + axis)) == [16, 32]
    stated = f'{RUN}{axis}offset = 0\nlast_batch = "dropped"\n'
    assert planned_steps(dry_run(tmp_path / "two", {"training.csv": log}, stated)) == [0, 15]


def test_keras_tensorboard_callback_evaluates_after_epoch_0_one_epoch_of_training(tmp_path: Path) -> None:
    curves = [event(9.0, epoch, simple("epoch_loss", 1 / (epoch + 1))) for epoch in range(3)]
    curves += [event(9.0, 16 * n, simple("evaluation_loss_vs_iterations", 1 / n)) for n in (1, 2)]
    metrics = '[metrics]\nepoch_loss = "val/loss"\nevaluation_loss_vs_iterations = "val/accuracy"\n'
    plan = dry_run(tmp_path, {"validation/events.out.tfevents.1": event_file(curves)}, MAPPING + metrics)
    (study,) = plan.studies.values()
    assert [(step, values) for _, step, values in study.first_rows] == [
        (16, {"val/loss": 1.0, "val/accuracy": 1.0}),
        (32, {"val/loss": 0.5, "val/accuracy": 0.5}),
        (48, {"val/loss": pytest.approx(1 / 3), "val/accuracy": None}),
    ]


@pytest.mark.parametrize(
    ("first", "add"),
    [(0, "epoch_offset = 1   # under [fields]; 0 if"), (-1, "epoch_offset = 2   # under [fields]; 1 if")],
)
def test_dry_run_reports_a_log_whose_first_evaluation_is_at_epoch_0(tmp_path: Path, first: int, add: str) -> None:
    """MLPerf v0.5's transformer evaluates at epoch -1 after its train_epoch 0."""
    lines = [":::MLPv0.5.0 transformer 1541702464.4 (train.py:1) global_batch_size: 64"]
    for epoch in range(3):
        value = f'eval_accuracy: {{"epoch": {first + epoch}, "value": {18.5 + epoch}}}'
        lines.append(f":::MLPv0.5.0 transformer {1541702738 + epoch} (train.py:152) {value}")
    files = {"result_0.txt": "\n".join(lines).encode()}
    mapping = f'{RUN}[fields]\nepoch_examples = 640\n[metrics]\neval_accuracy = "val/bleu"\n'
    plan = dry_run(tmp_path / "one", files, mapping)
    assert [q.rule for q in plan.quarantined] == [Rule.STEP_UNKNOWN]
    (missing,) = plan.missing
    assert missing.add.startswith(add)
    mapping = mapping.replace("[metrics]", f"{missing.add}\n[metrics]")
    assert planned_steps(dry_run(tmp_path / "two", files, mapping)) == [10, 20, 30]


def epochs_csv(*positions: int) -> bytes:
    return "".join(["epoch,val/loss\n", *(f"{epoch},3.5\n" for epoch in positions)]).encode()


@pytest.mark.parametrize("positions", [(4, 9, 14), (4, 9), (9, 19, 29, 30), (2, 5, 8)])
def test_every_nth_epoch_counted_from_0_needs_its_offset(tmp_path: Path, positions: tuple[int, ...]) -> None:
    log = epochs_csv(*positions)
    plan = dry_run(tmp_path / "one", {"a.csv": log})
    assert [q.rule for q in plan.quarantined] == [Rule.STEP_UNKNOWN]
    (missing,) = plan.missing
    assert missing.add == "epoch_offset = 1   # under [fields]; 0 if they are counted from 1"
    plan = dry_run(tmp_path / "two", {"a.csv": log}, f'{MAPPING}epoch_last_batch = "kept"\n{missing.add}\n')
    assert planned_steps(plan) == [16 * (epoch + 1) for epoch in positions]


@pytest.mark.parametrize("positions", [(5, 10, 15), (1, 2, 3), (1, 3, 5), (5, 6, 7), (9,), (4, 9, 20), (3, 5, 9)])
def test_other_whole_epochs_are_read_as_they_are(tmp_path: Path, positions: tuple[int, ...]) -> None:
    plan = dry_run(tmp_path, {"a.csv": epochs_csv(*positions)}, f'{MAPPING}epoch_last_batch = "kept"\n')
    assert planned_steps(plan) == [16 * epoch for epoch in positions]


@pytest.mark.parametrize("positions", [(5, 6, 7), (5,)])
def test_a_keras_log_that_goes_on_from_a_later_epoch_needs_its_offset(
    tmp_path: Path, positions: tuple[int, ...]
) -> None:
    log = "".join(["epoch,loss,val_loss\n", *(f"{epoch},3.5,3\n" for epoch in positions)]).encode()
    plan = dry_run(tmp_path / "one", {"training.csv": log})
    assert [q.rule for q in plan.quarantined] == [Rule.STEP_UNKNOWN]
    (missing,) = plan.missing
    assert missing.add.startswith("epoch_offset = 1   # under [fields]; 0 if")
    stated = f'{MAPPING}epoch_last_batch = "kept"\n{missing.add}\n'
    plan = dry_run(tmp_path / "two", {"training.csv": log}, stated)
    assert planned_steps(plan) == [16 * (epoch + 1) for epoch in positions]


def test_a_table_of_the_columns_of_keras_from_epoch_1_is_counted_from_1(tmp_path: Path) -> None:
    log = b"epoch,loss,val_loss\n1,3.5,3\n2,2.5,2\n"
    mapping = f'{MAPPING}epoch_last_batch = "kept"\n'
    assert planned_steps(dry_run(tmp_path, {"training.csv": log}, mapping)) == [16, 32]


@pytest.mark.parametrize(
    ("epochs", "steps"), [((0, 1, 2), [16, 32, 48]), ((4, 9, 14), [80, 160, 240]), ((1, 2, 3), None), ((5, 6), None)]
)
def test_keras_tags_are_counted_from_0_only_where_they_begin_so(
    tmp_path: Path, epochs: tuple[int, ...], steps: list[int] | None
) -> None:
    """Keras validates every fifth epoch at 4, 9, 14. From 1, the tag is another writer's, or a run goes on."""
    files = {"validation/events.out.tfevents.1": event_file([event(9.0, n, simple("epoch_loss", 1)) for n in epochs])}
    mapping = f'{MAPPING}{{}}[metrics]\nepoch_loss = "val/loss"\n'
    plan = dry_run(tmp_path / "one", files, mapping.format(""))
    if steps is not None:
        assert planned_steps(plan) == steps
        return
    assert [q.rule for q in plan.quarantined] == [Rule.STEP_UNKNOWN]
    stated = mapping.format('epoch_offset = 0\nepoch_last_batch = "kept"\n')
    assert planned_steps(dry_run(tmp_path / "two", files, stated)) == [16 * epoch for epoch in epochs]


def test_epochs_with_fractions_may_start_at_0(tmp_path: Path) -> None:
    log = b"epoch,val/loss\n0,3.5\n0.5,3\n1,2.5\n"
    assert planned_steps(dry_run(tmp_path, {"a.csv": log})) == [0, 8, 16]


def test_fractions_of_another_column_say_nothing_of_whole_epochs_from_0(tmp_path: Path) -> None:
    log = b"""{"epoch":0.25,"train/loss":2.4}
{"epoch":0.75,"train/loss":2.1}
{"epoch":0,"val/loss":2.0}
{"epoch":1.25,"train/loss":1.9}
{"epoch":1,"val/loss":1.6}
"""
    plan = dry_run(tmp_path / "one", {"a.jsonl": log})
    assert [q.rule for q in plan.quarantined] == [Rule.STEP_UNKNOWN]
    assert "val/loss is at epoch 0" in plan.quarantined[0].message
    stated = dry_run(tmp_path / "two", {"a.jsonl": log}, f"{MAPPING}epoch_offset = 0\n")
    assert planned_steps(stated)[0] == 0


WITHIN = b"epoch,step,val/loss,train/loss\n1,0,,5\n1,1,4,4\n2,0,,3\n2,1,3,2\n3,0,,1\n3,1,2,1\n"
BY_EPOCH = '"train/loss" = { repeated = "last" }\n'


def test_a_step_that_falls_where_the_epoch_rises_counts_within_the_epoch(tmp_path: Path) -> None:
    refused = dry_run(tmp_path / "one", {"a.csv": WITHIN})
    assert [q.rule for q in refused.quarantined] == [Rule.STEP_UNKNOWN]
    assert "step falls from 1 to 0 where epoch rises from 1 to 2" in refused.quarantined[0].message
    (missing,) = refused.missing
    corrected = dry_run(tmp_path / "two", {"a.csv": WITHIN}, f"{MAPPING}[metrics]\n{BY_EPOCH}{missing.add}\n")
    assert planned_steps(corrected) == [16, 31, 47]


def test_steps_within_epochs_are_refused_under_a_stated_axis_and_where_one_resume_is_among_them(tmp_path: Path) -> None:
    log = WITHIN.replace(b"step", b"batch") + b"3,0,,1\n3,1,2,1\n"
    refused = dry_run(tmp_path, {"a.csv": log}, f'{MAPPING}[[axis]]\ncolumn = "batch"\n')
    assert [q.rule for q in refused.quarantined] == [Rule.STEP_UNKNOWN]


@pytest.mark.parametrize("epoch", [1, 2])
def test_a_step_that_falls_where_the_epoch_falls_or_stays_was_resumed_from_a_checkpoint(
    tmp_path: Path, epoch: int
) -> None:
    log = f"epoch,step,val/loss\n1,10,4\n2,20,3\n2,30,3\n{epoch},20,2\n3,30,1\n".encode()
    assert planned_steps(dry_run(tmp_path, {"a.csv": log})) == [10, 20, 30]


def test_several_values_at_most_steps_are_blamed_on_the_axis_first(tmp_path: Path) -> None:
    log = b"epoch,batch,train/loss\n1,0,5\n1,1,4\n2,0,3\n2,1,2\n"
    (refused,) = dry_run(tmp_path / "two", {"a.csv": log}).quarantined
    assert refused.message.index("[[axis]]") < refused.message.index("repeated")
    (refused,) = dry_run(tmp_path / "one", {"a.csv": b"step,train/loss\n1,5\n1,4\n1,3\n"}).quarantined
    assert refused.rule == Rule.STEP_UNKNOWN


def test_the_place_in_a_list_is_no_epoch_that_a_restart_would_take_back(tmp_path: Path) -> None:
    log = b'{"step": [10, 20, 30, 20, 30], "val/loss": [4, 3, 2, 1, 1]}'
    mapping = f'{MAPPING}[[axis]]\ncolumn = "step"\n'
    assert planned_steps(dry_run(tmp_path, {"a.json": log}, mapping)) == [10, 20, 30]
