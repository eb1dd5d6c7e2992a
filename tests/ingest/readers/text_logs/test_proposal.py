"""Expressions proposed for text logs that nothing recognizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.formats.text import FORMAT
from losslake_ingest.mapping.mapping import load_mapping
from losslake_ingest.pipeline.mapping_draft import draft_mapping
from losslake_ingest.pipeline.reading import with_defaults
from losslake_ingest.run import ingest
from tests.ingest.formats.reading import cells, runs
from tests.ingest.test_silence import planned

# What the lines of some loops hold: columns and their values.
LOGS: dict[str, tuple[str, dict[str, list[float]]]] = {
    "words": (
        (
            "model of 3 layers\niter      0 | train loss 2.3000 | val loss 2.5300 | acc 23.33% | lr 3.0e-04\n"
            "iter     50 | train loss nan | val loss 2.1686 | acc 34.29% | lr 3.0e-04\n"
        ),
        {"iter": [0, 50], "val_loss": [2.53, 2.1686], "acc_percent": [23.33, 34.29]},
    ),
    "colons": (
        "[01-02 10:00] Step: 10, Loss: 2.5\n[01-02 10:01] Step: 20, Loss: 1\n",
        {"step": [10, 20], "loss": [2.5, 1]},
    ),
    "equal signs": ("INFO epoch=1 loss=2.5 val_loss=2.6\nINFO epoch=2 loss=1e-2 val_loss=inf\n", {"loss": [2.5, 0.01]}),
    "fractions and units": (
        "at:5/99 step:5/99 val_loss:2.5 t:9ms\nat:1/1 step:10/99 val_loss:1.5 t:19ms\n",
        {"t": [9, 19], "step": [5, 10]},
    ),
    "a step on its own line": (
        "Epoch 0/9\n---\ntrain Loss: 0.58 Acc: 0.7\nval Loss: 0.2 Acc: 0.9\nEpoch 1/9\n---\nval Loss: 0.1 Acc: 1\n",
        {"epoch": [0, 0, 0, 1, 1], "train_loss": [0.58], "val_acc": [0.9, 1]},
    ),
    "bars of progress": (
        "".join(
            f"Epoch 1:  {i}%|{'█' * i}{' ' * (9 - i)}| {i}/9 [00:0{i}<00:09, 1.5it/s, loss=2.{i}]\r" for i in range(9)
        ),
        {"epoch": [1] * 9, "loss": [2.0, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8]},
    ),
    "an evaluation without its epoch, by tabs": (
        (
            "Train Epoch: 1 [0/60000 (0%)]\tLoss: 2.25\nTest set: Average loss: 0.5, Accuracy: 9100/10000 (91%)\n"
            "Train Epoch: 2 [0/60000 (0%)]\tLoss: 0.25\nTest set: Average loss: 0.4, Accuracy: 9200/10000 (92%)\n"
        ),
        {"epoch": [1, 1, 2, 2], "train_loss": [2.25, 0.25], "test_loss": [0.5, 0.4], "test_accuracy_percent": [91, 92]},
    ),
    "names with a number": (
        (
            "Epoch: [0][ 10/99]\tLoss 2.3e+00 (2.4e+00)\tAcc@1  10.00 (  9.00)\n"
            "Epoch: [1][ 10/99]\tLoss 1.3e+00 (1.4e+00)\tAcc@1  70.00 ( 69.00)\n"
        ),
        {"epoch": [0, 1], "loss": [2.3, 1.3], "acc_1": [10, 70]},
    ),
    "a logger": (
        (
            "2026-01-01 10:00:40,123 - INFO - train.py:42 - [step=100] train_loss=2.5 lr=1e-3\n"
            "2026-01-01 10:00:50,999 - INFO - train.py:77 - [step=100] eval_loss=2.25 eval_accuracy=52.50%\n"
        ),
        {"step": [100, 100], "train_loss": [2.5], "eval_loss": [2.25], "eval_accuracy_percent": [52.5]},
    ),
    "steps with commas": (
        (
            "I0101 10:00:00.1 139 train.py:10] Step 999: loss = 2.5, accuracy = 0.1\n"
            "I0101 10:00:09.1 139 train.py:10] Step 1,000: loss = 1.5, accuracy = 0.25\n"
        ),
        {"step": [999, 1000], "loss": [2.5, 1.5], "accuracy": [0.1, 0.25]},
    ),
    "a dictionary": (
        "{'loss': 2.5, 'lr': 5e-05, 'epoch': 0.5}\n{'eval_loss': 2.25, 'eval_runtime': 3.2, 'epoch': 0.5}\n",
        {"epoch": [0.5, 0.5], "loss": [2.5], "eval_loss": [2.25]},
    ),
    "a table with bars": (
        "epoch | train loss | valid loss\n-------\n    0 |    2.500 |    2.750\n   10 |    1.500 |    1.750\n",
        {"epoch": [0, 10], "train_loss": [2.5, 1.5], "valid_loss": [2.75, 1.75]},
    ),
    "a table with blanks": (
        "epoch train_loss accuracy time    \n0     2.5        0.5      00:13     \n1     1.5        0.75     00:13\n",
        {"epoch": [0, 1], "train_loss": [2.5, 1.5], "accuracy": [0.5, 0.75]},
    ),
    "a short word for steps": (
        (
            "[10:00:00] it   999 | valid loss 2.5e+00 | valid acc 95.00% | lr 0.1\n"
            "[10:00:01] it 1,000 | valid loss 1.5e+00 | valid acc 96.00% | lr 0.1\n"
        ),
        {"valid_loss": [2.5, 1.5], "valid_acc_percent": [95, 96]},
    ),
    "a step without a name": (
        "[rank0]: [0/1000] loss: 2.5 | ppl 9.5\n[rank0]: [100/1000] loss: 1.5 | ppl 8.5\n",
        {"loss": [2.5, 1.5], "ppl": [9.5, 8.5]},
    ),
    # Like nanoGPT's, but with a metric that its mapping doesn't read.
    "lines like those of a known program": (
        "iter 50: loss 2.5, time 9.1ms\nstep 50: val acc 0.25\n",
        {"iter": [50], "loss": [2.5], "step": [50], "val_acc": [0.25]},
    ),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_draft_reads_the_log_that_it_was_made_from(tmp_path: Path, name: str) -> None:
    text, columns = LOGS[name]
    log = tmp_path / "logs" / "run.log"
    log.parent.mkdir()
    log.write_text(text)
    mapping = load_mapping(draft_mapping(log))
    assert mapping.extends is None
    (run,) = runs(FORMAT, tmp_path / "again", {"run.log": text.encode()}, with_defaults(mapping, FORMAT))
    found = {
        name: [cell for rows in run.rows if name in rows.columns for cell in cells(rows, name)] for name in columns
    }
    assert {name: [cell for cell in found[name] if cell is not None] for name in columns} == columns
    assert (mapping.run.dataset, mapping.run.model, mapping.metrics) == (None, None, {})


def test_a_draft_names_the_ready_mapping_of_a_known_program(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("step 0: train loss 10.9, val loss 10.8\n")
    assert load_mapping(draft_mapping(log)).extends == "nanogpt"


def test_a_refusal_proposes_an_expression_that_reads_the_log(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(LOGS["equal signs"][0])
    summary = ingest(Lake.create(tmp_path / "lake"), [log])
    message = " ".join(summary.broken)
    assert "'losslake map --init'" in message
    toml = message.partition("under [text]: ")[2].partition("], or let")[0] + "]"
    (tmp_path / "losslake.toml").write_text(
        '[collection]\nname = "c"\n[run]\ndataset = "d"\nmodel = "m"\noptimizer = "o"\nbatch_size = 8\n'
        '[metrics]\nval_loss = "val/loss"\nloss = "train/loss"\n'
        f'[[axis]]\ncolumn = "epoch"\ncounts = "steps"\n[text]\n{toml}\n'
    )
    summary = ingest(Lake.open(tmp_path / "lake"), [log])
    assert (summary.trials_ingested, summary.quarantined) == (1, ())


def test_a_text_without_numbers_after_words_gets_advice_and_no_expression(tmp_path: Path) -> None:
    log = tmp_path / "notes.txt"
    log.write_text("nothing here\nbut 3 words, and step by step\n" * 5)
    summary = ingest(Lake.create(tmp_path / "lake"), [log])
    (message,) = summary.broken
    assert message.endswith("notes.txt is text: write expressions for its lines under [text] in losslake.toml")


def test_a_draft_says_what_percentages_and_metrics_without_a_split_may_be(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("step 5: loss 2.5, val acc 52.5%\nstep 6: loss 1.5, val acc 55.5%\n")
    draft = draft_mapping(log).read_text()
    assert '# val_acc_percent = { metric = "val/accuracy", scale = 0.01 }   # guessed by its name\n' in draft
    assert '# loss = ""   # or "train/loss", guessed by its name, or of val or test\n' in draft


BARS = "".join(
    f"Epoch {epoch}: 100%|####| 50/50 [{'3:06:24' if epoch == 4 else '00:31'}<00:00, "
    f"{'1.12s/it' if epoch == 4 else '1.41it/s'}, loss={epoch / 10}]\n"
    + f"Test accuracy: 0.{epoch}\n"
    * (epoch % 2 == 0)
    for epoch in range(1, 7)
)
CONFIGURATIONS = "".join(
    f"Config: {{'lr': {rate}, 'optimizer': '{name}'}} epoch {epoch} val_loss 0.{epoch}\n"
    for rate, name in ((0.1, "sgd"), (0.01, "adam"))
    for epoch in (1, 2, 3)
)
BANNERS = "".join(
    f"--- resnet{size} ---\n" + "".join(f"step {step} val_loss 0.{step + size}\n" for step in range(4))
    for size in (18, 34)
)


def drafted(folder: Path, text: str) -> tuple[str, list[dict[str, list[float | None]]]]:
    """The draft for a log, and the columns of each run that it reads."""
    folder.mkdir()
    (folder / "run.log").write_text(text)
    draft = draft_mapping(folder / "run.log")
    mapping = with_defaults(load_mapping(draft), FORMAT)
    found = runs(FORMAT, folder / "again", {"run.log": text.encode()}, mapping)
    columns = [{name: cells(rows, name) for rows in run.rows for name in rows.columns} for run in found]
    return draft.read_text(), columns


def test_one_expression_reads_bars_with_any_rate_and_time(tmp_path: Path) -> None:
    _, (run,) = drafted(tmp_path / "a", BARS)
    pairs = [pair for pair in zip(run["epoch"], run["test_accuracy"], strict=True) if pair[1] is not None]
    assert pairs == [(2, 0.2), (4, 0.4), (6, 0.6)]
    assert [value for value in run["loss"] if value is not None] == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]


def test_lines_with_other_configurations_are_one_kind(tmp_path: Path) -> None:
    draft, found = drafted(tmp_path / "a", CONFIGURATIONS)
    assert [(run["epoch"], run["lr"]) for run in found] == [([1, 2, 3], [0.1] * 3), ([1, 2, 3], [0.01] * 3)]
    assert "# a run begins here, since its steps begin again: a guess" in draft


def test_a_banner_before_each_run_separates_them(tmp_path: Path) -> None:
    draft, found = drafted(tmp_path / "a", BANNERS)
    assert "starts = '^--- resnet'" in draft
    assert [run["val_loss"][0] for run in found] == [0.18, 0.34]


@pytest.mark.parametrize("log", [BANNERS, BANNERS.replace("---", "")], ids=["banner", "steps"])
def test_a_refusal_of_two_runs_has_the_line_that_separates_them(tmp_path: Path, log: str) -> None:
    text = "[text]\nlines = ['step (?P<step>\\d+) val_loss (?P<val_loss>\\S+)']\n"
    metrics = '[metrics]\nval_loss = "val/loss"\n'
    (item,) = planned(tmp_path / "asked", {"run.log": log}, text + metrics).quarantined
    assert item.rule == "values_disagree"
    line = item.message.partition("add to the mapping: ")[2].partition("   #")[0]
    assert line.startswith("starts = '")
    ((_, study),) = planned(tmp_path / "added", {"run.log": log}, f"{text}{line}\n{metrics}").studies.items()
    assert (study.trials, study.evaluations) == (2, 8)


def test_a_step_that_begins_again_in_each_epoch_starts_no_run(tmp_path: Path) -> None:
    log = "".join(f"epoch {epoch} step {step} loss 0.{step}\n" for epoch in (1, 2, 3) for step in (10, 20, 30))
    draft, found = drafted(tmp_path / "a", log)
    assert (len(found), "starts" in draft) == (1, False)


def test_a_split_that_names_a_time_is_not_that_of_the_next_quantity(tmp_path: Path) -> None:
    log = "".join(f"epoch {epoch} | loss 1.{epoch} | train 2.1s | Acc {50 + epoch}%\n" for epoch in range(1, 4))
    draft, (run,) = drafted(tmp_path / "a", log)
    assert run["acc_percent"] == [51, 52, 53]
    line = next(line for line in draft.splitlines() if "acc_percent =" in line)
    assert line.startswith('# acc_percent = ""   # or { metric = "train/accuracy", scale = 0.01 }')
    assert "train_acc" not in draft


def test_one_name_in_two_kinds_of_lines_is_two_columns(tmp_path: Path) -> None:
    log = "".join(f"Epoch {e}\nloss: 0.{e} [9/9]\nAccuracy: {e}%, Avg loss: 1.{e}\n" for e in range(1, 4))
    _, (run,) = drafted(tmp_path / "a", log)
    assert [value for value in run["loss"] if value is not None] == [0.1, 0.2, 0.3]
    assert [value for value in run["avg_loss"] if value is not None] == [1.1, 1.2, 1.3]


def test_a_draft_names_lines_with_a_quantity_that_it_does_not_read(tmp_path: Path) -> None:
    log = "".join(f"step {step} loss 0.{step}\nAccuracy on 100 test images: {step}\n" for step in range(1, 4))
    draft, _ = drafted(tmp_path / "a", log)
    assert "# No expression reads a line like this: 'Accuracy on 100 test images: 1'" in draft


def test_a_draft_asks_where_the_step_of_a_value_stands_if_the_log_does_not_show_it(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("val_loss: 0.9\nEpoch 1 done\nval_loss: 0.8\nEpoch 2 done\nval_loss: 0.7\n")
    asked = draft_mapping(log).read_text()
    assert '# carried_from = "above"   # or "below"' in asked
    log.write_text("val_loss: 0.9\nEpoch 1 done\nval_loss: 0.8\nEpoch 2 done\n")
    (tmp_path / "losslake.toml").unlink()
    shown = draft_mapping(log).read_text()
    assert ('carried = ["epoch"]' in shown, "carried_from" in shown) == (True, False)


RANKS = "".join(
    f"{{}}0{{}} step {step} val_loss 0.{step}\n{{}}1{{}} step {step} val_loss 0.9{step}\n" for step in range(3)
)


@pytest.mark.parametrize(("before", "after"), [("[rank", "]:"), ("", ":")])
def test_lines_of_several_ranks_are_refused_and_those_of_the_first_are_drafted(
    tmp_path: Path, before: str, after: str
) -> None:
    log = RANKS.format(*[before, after] * 6)
    draft, (run,) = drafted(tmp_path / "draft", log)
    assert run["val_loss"] == [0.0, 0.1, 0.2]
    text = "[text]\nlines = ['{}step (?P<step>\\d+) val_loss (?P<val_loss>\\S+)']\n[metrics]\nval_loss = \"val/loss\"\n"
    (item,) = planned(tmp_path / "asked", {"run.log": log}, text.format("")).quarantined
    assert (item.rule, item.line) == ("values_disagree", 2)
    begin = item.message.partition("let it begin with ")[2].partition(" under")[0]
    ((_, study),) = planned(tmp_path / "added", {"run.log": log}, text.format(begin)).studies.items()
    assert study.first_rows == [(1, step, {"val/loss": step / 10}) for step in range(3)]
    assert "rank" not in draft or "\\[rank0\\]" in draft
