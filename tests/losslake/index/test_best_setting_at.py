"""The macro best_setting_at has the rows of /v1/scaling of the best setting."""

from __future__ import annotations

import random

import duckdb
import pytest

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake.questions import scaling
from losslake.questions.release.view import ReleaseView
from losslake_ingest.run import ingest
from tests.ingest.offers import TrialOffer, study_files, unpacked

METRIC, WORKLOAD, OTHER = "val/classification_error", "root/mnist/cnn/sgd", "root/mnist/cnn/adam"
COLUMNS = (
    "batch_size", "steps", "trial_id", "value", "examples", "previous_step", "n_settings", "n_seeds", "steps_q25",
    "steps_q75", "n_trials", "n_reached",
)  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Studies of 1 to 14 trials of up to 4 settings, some of one submitter, with ties and trials that never reach."""
    chance, files = random.Random(3), dict[str, bytes]()
    for size in range(1, 13):
        trials = {}
        for trial_id in range(1, chance.randint(2, 15)):
            steps = sorted(chance.sample(range(1, 9), 4))
            values = sorted(chance.choices([0.9, 0.5, 0.3, 0.2, 0.1], k=4), reverse=True)
            setting = chance.randint(1, 1 + size // 3)
            known = {"learning_rate": setting / 10, "init_seed": trial_id} if size % 2 else {}
            facts = {"org": f"org {setting}", "system": "large"} if size % 2 == 0 else {}
            rows = [f"{step},{value}" for step, value in zip(steps, values, strict=True)]
            trials[trial_id] = TrialOffer(rows, metadata={"steps": 9, "parameters": known | facts})
        files |= study_files(trials, size) | study_files({1: TrialOffer()}, size, OTHER)
    made = Lake.create(tmp_path_factory.mktemp("settings") / "lake")
    ingest(made, [unpacked(made.folder.parent / "logs", files)])
    return made


@pytest.mark.parametrize("seeds", ["median", "mean"])
@pytest.mark.parametrize("target", [0.95, 0.35, 0.15, 0.05])
def test_sql_and_rest_have_the_same_best_setting(lake: Lake, seeds: str, target: float) -> None:
    asked = {"workload": [WORKLOAD], "metric": METRIC, "target": target, "result": "best_setting", "seeds": seeds}
    view = ReleaseView.open(lake, lake.release())
    rows = scaling.QUESTION.answer(view, scaling.ScalingParameters.model_validate(asked)).table().select(COLUMNS)
    with open_release(lake, lake.release()) as connection:
        call = "best_setting_at($m, $t, seeds := $s, workload := $w)"
        found = connection.sql(
            f"SELECT {', '.join(COLUMNS)} FROM {call} ORDER BY batch_size",
            params={"m": METRIC, "t": target, "s": seeds, "w": WORKLOAD},
        ).fetchall()
    assert found == [tuple(row.values()) for row in rows.to_pylist()]


def test_settings_are_named(lake: Lake) -> None:
    with open_release(lake, lake.release()) as connection:
        names = {
            name for (name,) in connection.sql(f"SELECT setting FROM best_setting_at('{METRIC}', 0.95)").fetchall()
        }
    assert {"org 1 large", "learning_rate=0.1"} <= names


def test_another_word_for_seeds_is_refused(lake: Lake) -> None:
    with (
        open_release(lake, lake.release()) as connection,
        pytest.raises(duckdb.Error, match="seeds best is neither median nor mean"),
    ):
        connection.execute(f"FROM best_setting_at('{METRIC}', 0.1, seeds := 'best')").fetchall()
