"""A line that a dry run proposes for the mapping says for which workloads it is, where it may be wrong for others."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import plan_ingest

MAPPING = """
[collection]
name = "c"
[path]
patterns = ["{model}/log.csv"]
[run]
dataset = "d"
optimizer = "o"
batch_size = "8"
[metrics]
val_acc = "val/accuracy"
"""
EPOCHS, ZERO_BASED = "epoch,val_acc\n1,0.5\n2,0.75\n", "epoch,val_acc\n0,0.5\n1,0.75\n"
PERCENTAGES, FRACTIONS = "step,val_acc\n1,50\n2,75\n", "step,val_acc\n1,0.5\n2,0.75\n"
SIZE = 'examples_per_epoch = "…"   # under [fields]: the number of examples per epoch'
OFFSET = "epoch_offset = 1   # under [fields]; 0 if it was before training"
SCALE = 'val_acc = { metric = "val/accuracy", scale = 0.01 }   # under [metrics]'
KNOWN_SIZE = '[[axis]]\ncolumn = "epoch"\ncounts = "epochs"\nepoch_size = "800"\n[[axis]]\ncolumn = "step"\n'


def proposed(folder: Path, mapping: str, logs: dict[str, str]) -> list[str]:
    (folder / "losslake.toml").write_text(mapping)
    for model, log in logs.items():
        (folder / model).mkdir()
        (folder / model / "log.csv").write_text(log)
    return [field.add for field in plan_ingest(None, [folder], Request()).missing]


@pytest.mark.parametrize(
    ("mapping", "log", "other", "line"),
    [
        (MAPPING, EPOCHS, FRACTIONS, SIZE),
        (MAPPING + KNOWN_SIZE, ZERO_BASED, FRACTIONS, OFFSET),
        (MAPPING, PERCENTAGES, FRACTIONS, SCALE),
    ],
)
def test_a_line_that_may_be_wrong_for_other_workloads_says_for_which_it_is(
    tmp_path: Path, mapping: str, log: str, other: str, line: str
) -> None:
    folders = {name: tmp_path / name for name in ("one", "some", "more", "all")}
    for folder in folders.values():
        folder.mkdir()
    assert proposed(folders["one"], mapping, {"a": log}) == [line]
    assert proposed(folders["some"], mapping, {"a": log, "b": other}) == [f"{line}; in a [[when]] for c/d/a/o"]
    more = f"{line}; in a [[when]] for c/d/a/o and 1 more"
    assert proposed(folders["more"], mapping, {"a": log, "b": log + "3,1\n", "z": other}) == [more]
    everywhere = f"{line}; by [[when]] where workloads differ"
    assert proposed(folders["all"], mapping, {"a": log, "b": log + "3,1\n"}) == [everywhere]
