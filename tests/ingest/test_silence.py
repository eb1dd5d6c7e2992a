"""What would be read as nothing, or as something else, is refused or named."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import IngestPlan, plan_ingest
from losslake_ingest.run import ingest

UPDATES = '[[axis]]\ncolumn = "step"\ncounts = "updates"\n'
MAPPING = """
collection.name = "c"
[run]
dataset = "d"
model = "m"
optimizer = "o"
batch_size = 10
"""


def planned(folder: Path, files: dict[str, str], mapping: str = "", formats: tuple[str, ...] = ()) -> IngestPlan:
    for path, text in {"losslake.toml": MAPPING + mapping, **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return plan_ingest(None, [folder], Request(formats=formats))


def test_a_requested_format_that_reads_nothing_breaks_the_source(tmp_path: Path) -> None:
    (broken,) = planned(tmp_path / "a", {"log.csv": "step,val/loss\n1,2\n"}, formats=("hf_trainer",)).broken
    assert "no file in it has the format hf_trainer: leave --format out, or correct it" in broken
    lake = Lake.create(str(tmp_path / "lake"))
    summary = ingest(lake, [tmp_path / "a"], Request(formats=("hf_trainer", "mllog")))
    assert "no file in it has the format hf_trainer or mllog" in summary.broken[0]


def test_a_requested_format_that_quarantines_everything_is_not_empty(tmp_path: Path) -> None:
    plan = planned(tmp_path, {"trainer_state.json": "{"}, formats=("hf_trainer",))
    assert (plan.broken, [item.rule for item in plan.quarantined]) == ([], ["unreadable_log"])


def test_dvclive_names_a_metric_by_its_folders(tmp_path: Path) -> None:
    folder = "dvclive/plots/metrics"
    rows = {"train": "step\tloss\n1\t0.5\n2\t0.25\n", "val": "step\tloss\n1\t0.75\n2\t0.625\n"}
    files = {f"{folder}/{split}/loss.tsv": text for split, text in rows.items()}
    ((_, study),) = planned(tmp_path, files, UPDATES).studies.items()
    assert study.first_rows == [
        (1, 1, {"train/loss": 0.5, "val/loss": 0.75}),
        (1, 2, {"train/loss": 0.25, "val/loss": 0.625}),
    ]


@pytest.mark.parametrize("path", ["metrics/val/loss.csv", "metrics/loss.tsv", "mymetrics/val/log.tsv"])
def test_other_tables_keep_their_column_names(tmp_path: Path, path: str) -> None:
    text = "step\tloss\n1\t0.5\n2\t0.25\n".replace("\t", "\t" if path.endswith("tsv") else ",")
    ((_, study),) = planned(tmp_path, {path: text}, UPDATES).studies.items()
    assert study.metrics == {"train/loss"}


@pytest.mark.parametrize(
    ("cells", "rule"),
    [("7 7 7 7", "step_unknown"), ("7 6 5 4", "step_unknown"), ("7 6", "values_disagree"), ("7 7", None), ("7", None)],
)
def test_a_curve_of_one_step_with_more_than_two_measurements_is_refused(
    tmp_path: Path, cells: str, rule: str | None
) -> None:
    rows = "".join(f'{{"step": 0, "val/f1": {cell}}}\n' for cell in cells.split())
    quarantined = planned(tmp_path, {"log.jsonl": rows}).quarantined
    assert [(item.path, item.rule) for item in quarantined] == ([("log.jsonl", rule)] if rule else [])
