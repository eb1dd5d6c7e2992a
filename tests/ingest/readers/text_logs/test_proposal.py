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
