"""Pile-T5 in ColPret's bundle: the loss is the logged sum over the target tokens of a batch."""

from __future__ import annotations

import csv
import io
import math

import pytest

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake_ingest.publication import publication
from losslake_ingest.run import ingest
from losslake_ingest.sources.member import Member
from losslake_ingest.sources.open import open_source
from tests.conformance.corpora import CORPORA
from tests.published.test_names import PUBLISHED

FOLDER = PUBLISHED / "colpret"
ARCHIVE = CORPORA / publication(FOLDER).logs[0].path
TOKENS, PERIOD = 2_048 * 114, 10_000
Curves = dict[str, dict[int, float]]


@pytest.fixture(scope="module")
def curves(tmp_path_factory: pytest.TempPathFactory) -> Curves:
    lake = Lake.create(tmp_path_factory.mktemp("colpret") / "lake")
    ingest(lake, [FOLDER / "colpret.tar"])
    found: Curves = {}
    with open_release(lake, lake.release()) as connection:
        for model, size, metric, step, value in connection.execute(
            "SELECT model, batch_size, metric, step, value FROM measurements"
        ).fetchall():
            assert (size, metric) == (2_048, "train/cross_entropy_error")
            found.setdefault(model.removeprefix("pile_t5_"), {})[step] = value
    return found


def test_losses_are_those_of_the_log_per_target_token(curves: Curves) -> None:
    assert {model: len(curve) for model, curve in curves.items()} == {"base": 201, "large": 201, "xl": 201, "xxl": 204}
    assert curves["xxl"][0] == pytest.approx(2_534_267.2 / TOKENS, rel=1e-15)
    assert curves["xxl"][1_250_000] == pytest.approx(148_510.23 / TOKENS, rel=1e-15)
    diverged = [step for step, value in sorted(curves["xxl"].items()) if math.isnan(value)]
    assert diverged == list(range(620_000, 680_001, 10_000))
    last = {model: curve[2_000_000] for model, curve in curves.items()}
    assert last["base"] > last["large"] > last["xl"] > last["xxl"] > 0.6


@pytest.mark.slow
@pytest.mark.skipif(not ARCHIVE.is_file(), reason="the published logs aren't at hand")
def test_every_loss_equals_the_wrong_column_with_its_divisor_put_right(curves: Curves) -> None:
    (member,) = open_source(ARCHIVE).members(lambda path: path.endswith("aggregated_eval/t5_pile.csv"))
    assert isinstance(member, Member)
    csv.field_size_limit(1 << 20)
    n_rows = 0
    for row in csv.DictReader(io.StringIO(member.data.decode())):
        steps = round(float(row["timing/seqs"]) / 2_048)
        counted = steps * TOKENS if steps < PERIOD else steps * TOKENS - 2**32
        right = float(row["cross_ent_loss_per_all_target_tokens"]) * counted / (steps * TOKENS)
        assert curves[row["model_name"]][int(row["steps"])] == pytest.approx(right, rel=3e-7, nan_ok=True)
        n_rows += 1
    assert n_rows == sum(map(len, curves.values())) == 807
