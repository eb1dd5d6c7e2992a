"""The numbers of docs/lesson.md are recomputed in plain Python from the bundled studies; its code and statements run."""

from __future__ import annotations

import math
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient

import losslake
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.applications import without_sql
from tests.bundled import bundled_lake
from tests.repository.checkout import ROOT
from tests.service.web.reading import Page

LESSON = (ROOT / "docs" / "lesson.md").read_text("utf-8")
WORDS = " ".join(LESSON.split())
METRIC = "val/classification_error"
# By optimizer, batch size and trial: the evaluations in order of their steps.
Curves = Mapping[tuple[str, int, int], list[tuple[int, float]]]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return bundled_lake(tmp_path_factory)


@pytest.fixture(scope="module")
def client(lake: Lake) -> Iterator[TestClient]:
    with TestClient(without_sql(lake), base_url="http://localhost") as client:
        yield client


@pytest.fixture(scope="module")
def curves(lake: Lake) -> Curves:
    """Return the curves of the network's complete trials, from the stored measurements."""
    rows = losslake.open(str(lake.folder)).sql(
        "SELECT optimizer, batch_size, trial_id, step, value FROM measurements "
        "JOIN trials USING (collection, dataset, model, optimizer, batch_size, trial_id) "
        f"WHERE model = 'mlp_64' AND metric = '{METRIC}' AND status IN ('COMPLETE', 'MISSED') ORDER BY step"
    )
    curves: dict[tuple[str, int, int], list[tuple[int, float]]] = {}
    for row in rows.to_dicts():
        key = row["optimizer"], row["batch_size"], row["trial_id"]
        curves.setdefault(key, []).append((row["step"], row["value"]))
    return curves


def steps_of_trials(curves: Curves, optimizer: str, batch_size: int, target: float = 0.05) -> dict[int, float]:
    """Return the first step below the target, by trial; infinite for never."""
    return {
        trial: min((step for step, value in curve if value < target), default=math.inf)
        for (name, size, trial), curve in curves.items()
        if (name, size) == (optimizer, batch_size)
    }


def fewest(curves: Curves, optimizer: str, batch_size: int, target: float = 0.05) -> float:
    return min(steps_of_trials(curves, optimizer, batch_size, target).values())


def perfect_end(curves: Curves, target: float) -> int:
    """Return the largest batch size up to which none takes over 20% more examples than the fewest so far.

    From the batch size of the fewest examples on, as those below it don't count.
    """
    examples = {2**power: 2**power * fewest(curves, "sgd", 2**power, target) for power in range(11)}
    best = min(examples.values())
    return max(size for size in examples if min(examples[other] for other in examples if other >= size) <= 1.2 * best)


def test_first_exercise_has_the_steps_and_examples_of_the_data(curves: Curves) -> None:
    steps = {size: fewest(curves, "sgd", size) for size in (4, 16, 256, 1024)}
    assert f"From {steps[4]} to {steps[16]} steps, {steps[4] / steps[16]:.2g} times fewer" in WORDS
    assert f"From {steps[256]} to {steps[1024]}, {steps[256] / steps[1024]:.3g} times fewer" in WORDS
    few, many = 16 * steps[16], 1024 * steps[1024]
    factors = f"{many / few:.0f} times the work for {steps[16] / steps[1024]:.2g} times fewer steps"
    assert f"At 16 it takes {few:,} examples, at 1,024 it takes {many:,}: {factors}" in WORDS


def test_second_exercise_has_the_regimes_of_both_targets(curves: Curves, client: TestClient) -> None:
    found = []
    for target in (0.1, 0.035):
        query = {"workload": "bundled/digits/mlp_64/sgd", "metric": METRIC, "target": target}
        rows = client.get("/v1/analysis/critical-batch-size", params=query).json()["estimates"]
        (size,) = (row["critical_batch_size"] for row in rows if row["definition"] == "mccandlish2018")
        found.append((perfect_end(curves, target), round(size)))
    (easy, easy_size), (hard, hard_size) = found
    assert f"At 10% perfect scaling ends at batch size {easy} and the critical batch size is {easy_size}." in WORDS
    assert f"At 3.5% these are {hard} and {hard_size}." in WORDS


def test_third_exercise_has_the_learning_rates_of_the_data(curves: Curves, lake: Lake) -> None:
    rows = losslake.open(str(lake.folder)).sql(
        "SELECT batch_size, trial_id, parameters['learning_rate'] AS rate FROM trials "
        "WHERE model = 'mlp_64' AND optimizer = 'sgd'"
    )
    rates = {(row["batch_size"], row["trial_id"]): row["rate"] for row in rows.to_dicts()}
    sizes = [2**power for power in range(11)]

    def nearest(size: int, rate: float) -> float:
        """Return the steps of the trial with the nearest learning rate."""
        steps = steps_of_trials(curves, "sgd", size)
        return steps[min(steps, key=lambda trial: (abs(math.log(rates[size, trial] / rate)), trial))]

    def best_rate(size: int) -> float:
        steps = steps_of_trials(curves, "sgd", size)
        return rates[size, min(steps, key=lambda trial: (steps[trial], trial))]

    assert f"steps no longer fall beyond 64: {nearest(64, 0.3)} there, and {nearest(1024, 0.3)} at 1,024" in WORDS
    assert min(nearest(size, 0.3) for size in sizes if size > 64) >= nearest(64, 0.3)
    assert f"they fall from {fewest(curves, 'sgd', 64)} to {fewest(curves, 'sgd', 1024)}" in WORDS
    assert [nearest(size, 1) for size in (1, 2, 4, 8)] == [math.inf] * 4
    assert all(nearest(size, 1) < math.inf for size in sizes if size > 8)
    assert f"from {best_rate(1):.3f} at batch size 1 to {best_rate(16):.2f} at 16" in WORDS
    assert all(0.8 <= best_rate(size) <= 1.4 for size in sizes if size >= 16)


def test_fourth_exercise_has_the_best_and_the_median_of_the_data(curves: Curves) -> None:
    reached = [steps for steps in steps_of_trials(curves, "sgd", 16).values() if steps < math.inf]
    assert f"At 16 the best takes {min(reached)} steps, the median {statistics.median(reached):g}." in WORDS
    first = {
        size: min(steps for trial, steps in steps_of_trials(curves, "sgd", size).items() if trial <= 8)
        for size in (8, 256)
    }
    words = (
        f"With 8 trials 256 takes {first[256]} steps instead of {fewest(curves, 'sgd', 256)}, "
        f"and 8 takes {first[8]} instead of {fewest(curves, 'sgd', 8)}."
    )
    assert words in WORDS


def test_fifth_exercise_has_the_steps_with_momentum_of_the_data(curves: Curves) -> None:
    plain, momentum = ({size: fewest(curves, name, size) for size in (8, 256)} for name in ("sgd", "momentum"))
    times = f"{plain[256] / momentum[256]:.2g} times fewer"
    assert f"At 256 momentum takes {momentum[256]} steps, plain SGD {plain[256]}: {times}." in WORDS
    assert f"At 8 it takes more, {momentum[8]} against {plain[8]}." in WORDS


def test_statements_run_and_are_those_of_their_links(lake: Lake, curves: Curves) -> None:
    statements = re.findall(r"^```sql\n(.*?)^```$", LESSON, re.MULTILINE | re.DOTALL)
    links = [parse_qs(urlsplit(each).query)["q"][0] for each in re.findall(r"\[Run it\]\((.*?)\)", LESSON)]
    assert [each.strip() for each in statements] == links
    opened = losslake.open(str(lake.folder))
    answers = [opened.sql(each).to_dicts() for each in statements]
    assert [len(rows) for rows in answers] == [11] * 5
    for row in answers[0]:
        assert row["steps"] == fewest(curves, "sgd", row["batch_size"])


def test_picture_is_the_figure_of_the_service(client: TestClient) -> None:
    """If it isn't, save the answer at this address as docs/lesson/regimes.svg."""
    address = (
        f"/v1/figures/scaling.svg?workload=bundled/digits/mlp_64/sgd&metric={METRIC}&target=0.05&width=720&height=420"
    )
    assert client.get(address).content == (ROOT / "docs" / "lesson" / "regimes.svg").read_bytes()


def test_page_of_the_lesson_leads_to_the_live_figure_of_its_own_service(client: TestClient) -> None:
    page = Page(client.get("/docs/lesson?release=1").text)
    (figure,) = (link for link in page.links if link.startswith("/batch-size?workload=bundled"))
    assert figure.endswith("&release=1")
    embedded = client.get(f"/embed{figure}")
    assert embedded.status_code == 200
    assert "mlp_64 on Digits, SGD" in embedded.text
    assert not [link for link in page.links if "127.0.0.1" in link]


@pytest.mark.slow
def test_sweep_of_a_class_gives_a_workload_with_its_figure(tmp_path: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", LESSON, re.MULTILINE | re.DOTALL)
    fewer = program.replace("max(300, 6000 // batch_size)", "60")
    assert fewer != program
    (tmp_path / "sweep.py").write_text(fewer)
    subprocess.run([sys.executable, "sweep.py"], cwd=tmp_path, check=True, capture_output=True)
    lake = Lake.create(tmp_path / "class")
    assert not ingest(lake, [tmp_path / "losslake-runs"]).quarantined
    with TestClient(without_sql(lake)) as client:
        page = client.get("/batch-size?workload=class/digits/softmax/sgd")
    assert page.status_code == 200
    assert "6 of 6 batch sizes" in page.text
