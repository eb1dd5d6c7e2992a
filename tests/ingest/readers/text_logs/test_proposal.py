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
        {"iter": [0, 50], "val_loss": [2.53, 2.1686], "val_acc_percent": [23.33, 34.29]},
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
    (rows,) = run.rows
    assert {name: [cell for cell in cells(rows, name) if cell is not None] for name in columns} == columns
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


def test_a_text_without_numbers_after_words_gets_no_proposal(tmp_path: Path) -> None:
    log = tmp_path / "notes.txt"
    log.write_text("nothing here\nbut 3 words, and step by step\n" * 5)
    summary = ingest(Lake.create(tmp_path / "lake"), [log])
    assert "is text" not in " ".join(summary.broken)
