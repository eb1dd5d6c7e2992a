"""Over the curves of a study, the mean of each setting with its t interval, in figures and on the page of the study."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
import scipy
from fastapi.testclient import TestClient

from losslake.figures.theme import COLOURS, CONTOUR
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.applications import without_sql
from tests.ingest.offers import METRIC, TrialOffer, study_files, unpacked
from tests.losslake.figures.drawing import marks

STUDY = "root/mnist/cnn/sgd/8"
# By trial: its learning rate, which is the setting, and its curve. At step 20 trial 2 has no value, and trial 3 stops.
CURVES: dict[int, tuple[float, dict[int, float]]] = {
    1: (0.1, {0: 0.9, 10: 0.5, 20: 0.3, 30: 0.2}),
    2: (0.1, {0: 0.8, 10: 0.4, 20: float("nan"), 30: 0.1}),
    3: (0.1, {0: 0.7, 10: 0.45, 20: 0.35}),
    4: (0.2, {0: 0.9, 15: 0.6}),
    5: (0.2, {0: 0.8, 16: 0.5}),
    6: (0.3, {0: 0.9, 10: 0.7}),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Open a service over a study of three settings, of 3, 2 and 1 trials."""
    folder = tmp_path_factory.mktemp("means")
    trials = {
        number: TrialOffer(
            rows=tuple(f"{step},{value}" for step, value in curve.items()),
            metadata={"parameters": {"learning_rate": rate, "seed": number}},
        )
        for number, (rate, curve) in CURVES.items()
    }
    lake = Lake.create(folder / "lake")
    assert not ingest(lake, [unpacked(folder / "logs", study_files(trials))]).quarantined
    with TestClient(without_sql(lake), raise_server_exceptions=False) as opened:
        yield opened


def figure_of(client: TestClient, **more: str) -> dict[str, Any]:
    query = urlencode({"study": STUDY, "metric": METRIC, "mean": "settings"} | more)
    drawn: dict[str, Any] = client.get(f"/v1/figures/curves.vl.json?{query}").json()
    return drawn


def expected_means() -> dict[tuple[str, int], tuple[float, float, int]]:
    """By the name of a setting and step: the mean, the lower end of its interval, and of how many trials it is."""
    found = {}
    for name, rate in (("trial 1 and 2 more", 0.1), ("trial 4 and 1 more", 0.2)):
        curves = [curve for own, curve in CURVES.values() if own == rate]
        for step in sorted({step for curve in curves for step in curve}):
            values = [curve[step] for curve in curves if step in curve and curve[step] == curve[step]]
            if len(values) > 1:
                mean, freedom = statistics.mean(values), len(values) - 1
                low, _ = scipy.stats.t.interval(0.95, freedom, mean, statistics.stdev(values) / len(values) ** 0.5)
                found[name, step] = mean, float(low), len(values)
    return found


@pytest.mark.parametrize("measure", ["steps", "examples"])
def test_means_are_those_of_finite_values_at_equal_steps(client: TestClient, measure: str) -> None:
    factor = 8 if measure == "examples" else 1
    drawn = {
        (row["series"], row["step"] / factor): (row["value"], row["low"], row["n"])
        for row in marks(figure_of(client, measure=measure), "area")
    }
    assert {place: pytest.approx(values) for place, values in expected_means().items()} == drawn


def test_settings_have_colours_and_single_trials_are_grey(client: TestClient) -> None:
    scale = figure_of(client)["concat"][0]["layer"][0]["encoding"]["color"]["scale"]
    assert scale["domain"] == ["other settings (1)", "trial 1 and 2 more", "trial 4 and 1 more"]
    assert scale["range"] == [CONTOUR, *COLOURS[:2]]


def test_caption_says_of_how_many_trials_the_means_are_and_names_rows_that_are_not_thinned(client: TestClient) -> None:
    caption = " ".join(figure_of(client)["title"]["text"])
    assert "mean of 2 settings over the 2 to 3 trials" in caption
    assert "ended earlier or diverged" in caption
    assert "95% t interval" in caption
    assert "points=" not in caption


@pytest.mark.parametrize(
    ("more", "parameter"),
    [({"points": "9"}, "points"), ({"highlight": f"{STUDY}/1"}, "highlight"), ({"colour_by": "status"}, "colour_by")],
)
def test_what_contradicts_means_is_refused(client: TestClient, more: dict[str, str], parameter: str) -> None:
    assert figure_of(client, **more)["parameter"] == parameter


def test_page_of_the_study_offers_means_and_takes_them_back(client: TestClient) -> None:
    text = client.get(f"/studies/{STUDY}").text
    assert f'<a href="/studies/{STUDY}?mean=settings#curves-heading">With means of settings</a>' in text
    text = client.get(f"/studies/{STUDY}?mean=settings").text
    assert f'<a href="/studies/{STUDY}#curves-heading">Without means of settings</a>' in text
    assert "mean=settings&amp;" in text.partition("/v1/figures/curves")[2].partition('"')[0]
