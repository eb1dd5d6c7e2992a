"""Points of laws from curves: what trials state of size and tokens, where they disagree, and units that differ."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from losslake.lake.lake import Lake
from losslake.questions import critical_batch_law
from losslake.questions.critical_batch_law import CriticalBatchLawParameters
from losslake.questions.release.view import ReleaseView
from losslake_ingest.run import ingest

MAPPING = """
[collection]
name = "mine"

[path]
patterns = ["{model}/{n}/{tokens}/b{batch_size:int}.csv"]

[run]
dataset = "c4"
optimizer = "adamw"
batch_unit = "sequences"

[parameters]
n_parameters = "{n}"
tokens_per_example = "{tokens}"

[metrics]
loss = "val/perplexity"

[[goal]]
metric = "val/perplexity"
target = 20
source = "a test"
"""
BATCH_SIZES = [8 * 2**power for power in range(9)]
# By model: its parameters, tokens of an example, and critical batch size.
MODELS = {"one": (1e7, 512, 64.0), "two": (4e7, 512, 128.0), "three": (1.6e8, 512, 256.0), "four": (6.4e8, 512, 512.0)}
LONGER = {"long": (1.28e9, 1024, 724.0)}


def write(logs: Path, model: str, n: float, tokens: int, critical: float) -> None:
    for size in BATCH_SIZES:
        steps = round(2000 * (1 + critical / size))
        place = logs / model / f"{n:.0f}" / str(tokens) / f"b{size}.csv"
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["step", "loss"])
            writer.writerows([(steps - 20, 40.0), (steps - 2, 25.0), (steps, 19.0)])


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> ReleaseView:
    folder = tmp_path_factory.mktemp("laws")
    for model, (n, tokens, critical) in (MODELS | LONGER).items():
        write(folder / "logs", model, n, tokens, critical)
    # Half of the trials of this one state another size.
    write(folder / "logs", "unclear", 2e8, 512, 300.0)
    for size in BATCH_SIZES[::2]:
        other = folder / "logs" / "unclear" / "300000000" / "512" / f"b{size}.csv"
        other.parent.mkdir(parents=True, exist_ok=True)
        (folder / "logs" / "unclear" / "200000000" / "512" / f"b{size}.csv").rename(other)
    (folder / "logs" / "losslake.toml").write_text(MAPPING)
    lake = Lake.create(folder / "lake")
    ingest(lake, [folder / "logs"])
    return ReleaseView.open(lake, lake.release(None))


def answer(view: ReleaseView, models: dict[str, Any], **options: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    workloads = [f"mine/c4/{model}/adamw" for model in models]
    found = critical_batch_law.QUESTION.answer(view, CriticalBatchLawParameters(workload=workloads, **options))
    facts = dict(found.facts)
    return found.table().to_pylist(), facts | {law["variable"]: law for law in facts["laws"]}


def test_true_law_is_found_from_curves(view: ReleaseView) -> None:
    rows, facts = answer(view, MODELS)
    assert [row["parameters_are"] for row in rows] == ["n_parameters"] * 4
    for row, (n, tokens, critical) in zip(rows, MODELS.values(), strict=True):
        assert row["parameters"] == n
        assert row["critical_batch_size"] == pytest.approx(critical * tokens, rel=0.01)
        assert row["tokens"] == pytest.approx(2000 * critical * tokens, rel=0.01)
        assert row["loss"] == pytest.approx(math.log(20))
    law = facts["parameters"]
    assert law["exponent"] == pytest.approx(0.5, abs=0.01)
    assert law["coefficient"] == pytest.approx(64 * 512 / math.sqrt(10), rel=0.02)
    assert law["exponent_lower"] < 0.5 < law["exponent_upper"]
    assert facts["loss"]["refused"] == "there are 1 different values; a law needs 3"


def test_size_that_trials_disagree_on_is_unknown(view: ReleaseView) -> None:
    rows, facts = answer(view, MODELS | {"unclear": None})
    unclear = rows[-1]
    assert unclear["workload"] == "mine/c4/unclear/adamw"
    assert (unclear["parameters"], unclear["parameters_are"], unclear["ratio_parameters"]) == (None, None, None)
    assert unclear["ratio_tokens"] is not None
    assert (facts["parameters"]["n_points"], facts["tokens"]["n_points"]) == (4, 5)


def test_batch_sizes_that_count_different_things_share_a_law_in_tokens_only(view: ReleaseView) -> None:
    rows, facts = answer(view, MODELS | LONGER)
    assert facts["parameters"]["n_points"] == 5
    assert rows[-1]["critical_batch_size"] == pytest.approx(724 * 1024, rel=0.01)
    _, refused = answer(view, MODELS | LONGER, unit="batch_unit")
    assert refused["parameters"]["refused"] == (
        "batch sizes count different things, sequences of 1024 tokens and sequences of 512 tokens: unit=tokens"
    )
    assert refused["parameters"]["exponent"] is None


def test_definition_changes_the_number_as_it_says(view: ReleaseView) -> None:
    critical = [row["critical_batch_size"] for row in answer(view, MODELS, unit="batch_unit")[0]]
    options = {"unit": "batch_unit", "by": "zhang2024", "overhead": 0.5, "optimal_batch_size": 10}
    stars = [row["critical_batch_size"] for row in answer(view, MODELS, **options)[0]]
    assert stars == pytest.approx([0.5 * each + 1.5 * 10 for each in critical])
    # In tokens, published laws of the other definition are converted with these, too.
    rows, facts = answer(view, MODELS, by="zhang2024", overhead=0.5, optimal_batch_size=10)
    law = next(each for each in facts["published"] if each["law"] == "kaplan2020")
    kaplan = 2.1e8 * np.log(20) ** (-1 / 0.21)
    expected = [row["critical_batch_size"] / (0.5 * kaplan + 1.5 * 10 * 512) for row in rows]
    assert law["ratios"] == pytest.approx(expected)
