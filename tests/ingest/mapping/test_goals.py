"""Targets that a log states, beside values in percent: a fraction, a percentage, or asked."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

import losslake
from losslake.lake.lake import Lake
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import IngestPlan, plan_ingest
from losslake_ingest.run import ingest

FACTS = {"format": "losslake-record/1", "collection": "c", "dataset": "d", "model": "m", "optimizer": "o",
         "batch_size": 64, "licence": None, "started_at": 0.0, "parameters": {}}  # fmt: skip
ACCURACY, ERROR = "val/accuracy", "val/classification_error"


def recorded(folder: Path, metric: str, target: float, values: list[float], mapping: str = "") -> Path:
    goal = {"metric": metric, "target": target, "source": "a paper"}
    rows = "".join(f"{json.dumps({'step': step, metric: value})}\n" for step, value in enumerate(values, start=1))
    files = {"run.json": json.dumps({**FACTS, "goals": [goal]}), "0001/000001.jsonl": rows, "losslake.toml": mapping}
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def planned(folder: Path) -> IngestPlan:
    return plan_ingest(None, [folder], Request())


def goals(folder: Path) -> list[tuple[str, float, int | None]]:
    """The goals of the ingested run, and the first step that reaches each."""
    ingest(Lake.create(str(folder.parent / "lake")), [folder], Request())
    rows = losslake.open(folder.parent / "lake").sql("SELECT metric, target, steps FROM steps_to_target").to_dicts()
    return [(row["metric"], row["target"], row["steps"]) for row in rows]


def test_the_line_that_a_refusal_of_percentages_proposes_keeps_the_goal_of_the_log(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "run", ACCURACY, 0.95, [50.5, 1.2, 96.0])
    (refused,) = planned(folder).quarantined
    assert refused.rule == "out_of_range"
    line = re.findall(r"add to the mapping: (.*)   # under \[metrics\]", refused.message)[0]
    recorded(folder, ACCURACY, 0.95, [50.5, 1.2, 96.0], f"[metrics]\n{line}\n")
    remarks = dict(planned(folder).sources[0].remarks)
    assert remarks["goal 0.95 of val/accuracy: a fraction, though the values are percentages (first in .)"] == 1
    assert goals(folder) == [(ACCURACY, 0.95, 3)]


@pytest.mark.parametrize(
    ("metric", "scale", "target", "values", "expected"),
    [
        (ACCURACY, "scale = 0.01", 95.0, [50.5, 1.2, 96.0], 0.95),
        (ACCURACY, "scale = 0.01", 1.0, [50.5, 1.2, 96.0], 1.0),
        (ACCURACY, "scale = 1", 0.95, [0.5, 0.25, 0.96], 0.95),
        (ERROR, "scale = 0.01", 0.95, [30.0, 2.0, 0.9], 0.0095),  # an error of 95% is no goal
        (ERROR, "scale = 0.01", 5.0, [30.0, 2.0, 0.9], 0.05),
        ("val/hits", 'direction = "maximize", scale = 0.01', 0.95, [50.5, 1.2, 96.0], 0.95),
        ("val/points", 'direction = "maximize", scale = 0.1', 0.95, [50.5, 1.2, 96.0], 0.095),
    ],
)
def test_a_target_beside_percentages_is_what_it_can_only_mean(
    tmp_path: Path, metric: str, scale: str, target: float, values: list[float], expected: float
) -> None:
    line = f'[metrics]\n"{metric}" = {{ metric = "{metric}", {scale} }}\n'
    folder = recorded(tmp_path / "run", metric, target, values, line)
    assert [(goal, reached) for goal, reached, _ in goals(folder)] == [(metric, expected)]


@pytest.mark.parametrize("chosen", [0.5, 0.005])
def test_a_target_that_can_be_a_fraction_and_a_percentage_is_asked_for(tmp_path: Path, chosen: float) -> None:
    line = f'[metrics]\n"{ERROR}" = {{ metric = "{ERROR}", scale = 0.01 }}\n'
    folder = recorded(tmp_path / "run", ERROR, 0.5, [90.0, 40.0, 0.4], line)
    plan = planned(folder)
    (refused,) = plan.quarantined
    assert (refused.path, refused.rule) == (".", "bad_fact")
    assert "goal 0.5 for val/classification_error" in refused.message
    assert "whether 50% or 0.5% is meant: add to the mapping: [[goal]]" in refused.message
    (missing,) = plan.missing
    goal = tomllib.loads(missing.add)["goal"][0]
    assert (goal["replaces"], goal["target"], goal["source"]) == (0.5, 0.5, "a paper")
    recorded(folder, ERROR, 0.5, [90.0, 40.0, 0.4], line + missing.add.replace("target = 0.5", f"target = {chosen}"))
    assert goals(folder) == [(ERROR, chosen, 2 if chosen == 0.5 else 3)]


def test_a_goal_that_its_metric_cannot_have_is_left_out_and_counted(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "run", ACCURACY, 95.0, [0.5, 0.96])
    plan = planned(folder)
    assert [text for text, _ in plan.sources[0].remarks if "its metric can't have: left out" in text]
    assert not plan.quarantined
