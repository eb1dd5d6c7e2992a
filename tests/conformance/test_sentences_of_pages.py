"""Sentences of pages about MLPerf's logs equal a computation in plain Python from their measurements.

Taken from the answers are only the ends with noise and the variants of ends; intervals, bounds, refusals and doubts of
the critical batch size, which come from profiles and simulations, and the number of targets at which results change.
Everything else, critical batch sizes included, is computed once more from the evaluations of trials: which trials are
settings, their medians, the best setting, dominated batch sizes, both ends, and the robust fit.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import losslake
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.applications import without_sql
from tests.conformance.recomputed import Recomputed, trial_of
from tests.conformance.sentences import sentences_of

BUNDLES = sorted((Path(__file__).parents[2] / "published").glob("mlperf-*/*.tar"))
PAGES = (
    "mlperf-training/imagenet/resnet/lars",
    "mlperf-training/wikipedia_2020/bert/lamb",
    "mlperf-training/openimages_v6/retinanet/adam",
    "mlperf-training/kits19/unet3d/nag",
    "mlperf-training/kits19/unet3d/sgd",
    "mlperf-training/govreport/llama2_70b_lora/adamw",
)
NAMES = ("collection", "dataset", "model", "optimizer")


@dataclass(frozen=True)
class Answered:
    """The answers about a workload: bounds with noise, and the interval, bounds or refusal, are read from them."""

    regimes: Mapping[str, Any]
    critical: Mapping[str, Any]

    def noise(self, name: str) -> tuple[int | None, int | None]:
        (end,) = (
            each for each in self.regimes["break_points"]
            if each["break_point"] == name and each["variant"] == "as defined"
        )  # fmt: skip
        return end["lower_with_noise"], end["upper_with_noise"]

    def variants(self, name: str) -> dict[str, int]:
        ends = self.regimes["break_points"]
        return {each["variant"]: each["batch_size"] for each in ends if each["break_point"] == name}

    @property
    def estimate(self) -> Mapping[str, Any]:
        (row,) = (each for each in self.critical["estimates"] if each["definition"] == "mccandlish2018")
        found: Mapping[str, Any] = row
        return found


class Release:
    """A lake with its pages."""

    def __init__(self, lake: Lake, client: TestClient) -> None:
        self.lake, self.client = losslake.open(str(lake.folder)), client
        self._known: dict[str, Recomputed] = {}

    def rows(self, statement: str, **parameters: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.lake.sql(statement, parameters or None).to_dicts()
        return found

    def page(self, path: str) -> str:
        return self.client.get(path).text

    def answer(self, path: str, workload: str = "") -> dict[str, Any]:
        found: dict[str, Any] = self.client.get(
            f"{path}.json", params={"workload": workload} if workload else {}
        ).json()
        return found

    def known(self, name: str) -> tuple[Recomputed, Answered | None]:
        """Return a workload at its first goal, and what is taken from answers about three batch sizes or more."""
        own = self.workload(name)
        if len(own.trials) < 3:
            return own, None
        return own, Answered(own.goal, self.answer("/v1/analysis/critical-batch-size", name))

    def workload(self, name: str) -> Recomputed:
        """Return a workload at its first goal."""
        if name not in self._known:
            where = " AND ".join(f"{part} = ${part}" for part in NAMES)
            place = dict(zip(NAMES, _parts(name), strict=True))
            goal = self.answer("/v1/analysis/regimes", name)
            found = Recomputed(goal)
            curves: dict[tuple[int, int], list[tuple[int, float]]] = {}
            for row in self.rows(
                f"SELECT batch_size, trial_id, step, value FROM measurements WHERE {where} AND metric = $metric",
                **place,
                metric=goal["metric"],
            ):
                curves.setdefault((row["batch_size"], row["trial_id"]), []).append((row["step"], row["value"]))
            trials = self.rows(
                "SELECT batch_size, trial_id, status, map_entries(parameters) AS parameters, "
                f"map_entries(attributes) AS attributes FROM trials WHERE {where}",
                **place,
            )
            flags = self.rows(f"FROM flags WHERE {where} AND rule <> 'equal_curve'", **place)
            flagged = {(row["batch_size"], row["trial_id"]) for row in flags}
            for row in trials:
                key = (row["batch_size"], row["trial_id"])
                found.n_trials += 1
                found.n_incomplete += row["status"] == "INCOMPLETE"
                if row["status"] in ("COMPLETE", "MISSED") and key not in flagged:
                    found.trials.setdefault(row["batch_size"], []).append(trial_of(row, curves.get(key, []), goal))
            self._known[name] = found
        return self._known[name]


def _parts(name: str) -> list[str]:
    return name.rsplit("/", 3)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    lake = Lake.create(tmp_path_factory.mktemp("published") / "lake")
    ingest(lake, BUNDLES)
    with TestClient(without_sql(lake), base_url="http://localhost") as client:
        yield Release(lake, client)


def listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def where(lower: float | None, upper: float | None) -> str:
    if lower and upper:
        return f"between {lower:,} and {upper:,}" if lower != upper else f"at {lower:,}"
    return f"at {lower:,} or above" if lower else f"at {upper:,} or below"


def rough(number: float, digits: int) -> str:
    return f"{float(f'{number:.{digits}g}'):,.12g}"


def perfect_words(own: Recomputed, answered: Answered) -> str:
    halves, (lower, upper) = "doubling the batch halves the steps (within 20%)", answered.noise("perfect_scaling_end")
    since, end, first = own.perfect[0], own.perfect[-1], min(own.tuned)
    assert first == since
    if since == end:
        smallest = f"Already beyond the smallest batch size that counts, {end:,}, doubling the batch doesn't halve"
        return f"{smallest} the steps (within 20%)."
    if end <= 1.2 * since:  # so few examples even if no batch size saved a step
        return f"Already beyond batch size {end:,}, doubling the batch doesn't halve the steps (within 20%)."
    if end < 2 * since:
        span = f"from batch size {since:,} to {end:,}, less than a doubling"
        noisy = f"With the noise of steps, that ends {where(lower, upper)} (90%)."
        return f"Steps fall in proportion to the batch (within 20%) {span}. {noisy}"
    put = f"these steps put the end at {end:,}."
    if lower and (upper is None or upper <= 8 * lower):
        unended = ", and nothing shows that this ends there" if end == max(own.tuned) else ""
        noisy = f"With the noise of steps, that ends {where(lower, upper)} (90%)."
        return f"{halves.capitalize()} up to batch size {end:,}{unended}. {noisy}"
    if lower:
        return f"{halves.capitalize()} up to a batch size between {lower:,} and {upper:,} (90%); {put}"
    if upper:
        return f"By batch size {upper:,} doubling the batch no longer halves the steps (90%); {put}"
    return f"The noise of steps is too large to tell up to which batch size {halves}; {put}"


def useful_words(own: Recomputed, answered: Answered) -> str:
    size, largest = own.useful, max(own.tuned)
    if size == largest:
        still = f"Steps still fall at the largest batch size that reaches the target, {size:,}"
        return f"{still}: larger ones may save more."
    if largest <= 1.1 * size:
        return f"Batch sizes {size:,} to {largest:,} are too close to tell whether larger ones save steps."
    noisy = answered.noise("max_useful_batch_size")
    begins = f"With the noise of steps, that begins {where(*noisy)} (90%)."
    return f"Beyond batch size {size:,} larger ones, up to {largest:,}, save no more steps (within 10%). {begins}"


def dominated_words(own: Recomputed) -> Iterator[str]:
    for part, than in ((0, "examples than larger ones"), (1, "steps than smaller ones")):
        sizes = [size for size in own.dominated if (own.excess[size][1] > own.excess[size][0]) == bool(part)]
        more = [f"{own.excess[size][part] - 1:.0%}" for size in sizes]
        if sizes:
            much = listed(more) if len(more) <= 4 else f"up to {max(own.excess[size][part] for size in sizes) - 1:.0%}"
            named = f"Batch size{'s' * (len(sizes) > 1)} {listed([f'{size:,}' for size in sizes])}"
            yield f"{named} took {much} more {than}: tuned worse, not counted."


def critical_words(own: Recomputed, answered: Answered) -> Iterator[str]:
    """Yield the sentence about the critical batch size."""
    row, (value, s_min, _) = answered.estimate, own.fit
    lower, upper = row["lower"], row["upper"]
    if row["critical_batch_size"] is None:
        ends = [f"{rough(end, 2)}" for end in (lower, upper)]
        bounds = f"It is at least {ends[0]} and at most {ends[1]} (95% bounds)."
        why = "its interval reaches far beyond the batch sizes that were measured"
        yield f"The critical batch size can't be determined: {why}. {bounds}"
        return
    digits = 2 if len({rough(each, 2) for each in (value, lower, upper)}) == 3 else 3
    words = [rough(each, digits) for each in (value, lower, upper)]
    near = min(own.tuned, key=lambda size: abs(math.log(size / value)))
    best = min(own.tuned, key=lambda size: own.tuned[size])
    times = f"{own.tuned[near] / own.tuned[best]:.2g} times the fewest, {own.tuned[best]:,} at {best:,}"
    yield (
        f"Critical batch size {words[0]} (90% interval {words[1]} to {words[2]}): the nearest one measured, {near:,}, "
        f"takes {own.tuned[near]:,} steps, {'the fewest of any' if near == best else times}; the fitted curve falls "
        f"on to {rough(s_min, 2)}, half of its steps there."
    )


def caveat_words(own: Recomputed, answered: Answered) -> Iterator[str]:
    if own.n_incomplete:
        included = "status=COMPLETE&status=MISSED&status=INCOMPLETE includes them."
        yield f"{own.n_incomplete} trial{'s' * (own.n_incomplete > 1)} of status INCOMPLETE: {included}"
    small = sum(
        len(setting) for size in own.settings for setting in own.settings[size] if setting not in own.counted(size)
    )
    if small:
        beside = "of settings of fewer than 3 trials, beside larger ones: result=best_trial counts them."
        yield f"{small} trial{'s' * (small > 1)} {beside}"
    since, end = own.perfect[0], own.perfect[-1]
    if since < end <= 1.2 * since:
        yield f"Perfect scaling ends at or below batch size {end}."
    if own.useful < max(own.tuned) <= 1.1 * own.useful:
        yield f"Whether steps fall beyond batch size {own.useful} isn't known: larger ones are too close to it to tell."
    if own.useful == max(own.tuned):
        yield f"The largest batch size with a result, {own.useful}, still gains; larger ones may."
    for name, words in (
        ("perfect_scaling_end", "the end of perfect scaling"),
        ("max_useful_batch_size", "the largest useful batch size"),
    ):
        lower, upper = answered.noise(name)
        lies = f"from {lower:,} to {upper:,}" if lower and upper else where(lower, upper)
        may = f"One more trial may move {words}: with noise and the spacing of evaluations it lies {lies} (90%)."
        yield may
        if len(set(answered.variants(name).values())) > 1:
            others = ", ".join(f"{size} {variant}" for variant, size in answered.variants(name).items())
            yield f"{words.capitalize()} is uncertain: {others}."
    before = {size: own.results[size].previous for size in own.steps}
    gaps = {size: (steps - before[size]) / steps for size, steps in own.steps.items()}
    far = [size for size, gap in gaps.items() if gap > 0.05 and before[size]]
    if far:
        shown = [str(size) for size in far]
        named = (
            ", ".join(shown) if len(far) <= 12 else f"{', '.join(shown[:3])}, \u2026, {shown[-1]} ({len(far)} of them)"
        )
        below = (
            f"where the crossing may lie up to {max(gaps[size] for size in far):.0%} below steps: see previous_step."
        )
        yield f"Evaluations are far apart at batch size {named}, {below}"


def expected_of(name: str, own: Recomputed, answered: Answered | None) -> Iterator[str]:
    """Yield each sentence of a workload's page that has a number. answered: None for a page without regimes."""
    sizes = sorted(own.trials)
    span = f"{len(sizes)} batch sizes, {sizes[0]:,} to {sizes[-1]:,}"
    yield f"{span} \u00b7 {own.n_trials:,} trials"
    yield f"In REST and SQL this workload is {name}."
    repeated, n = own.n_repeated
    yield (
        "A setting's steps are the median over its trials, which differ only in seeds or are of one submission; the "
        f"best setting counts, since {repeated:,} of {n:,} trials are of settings of 3 trials or more."
    )
    best = min(own.steps, key=lambda size: own.steps[size])
    if answered is None:
        first, other = own.steps[sizes[0]], own.steps[best]
        larger = f"{best / sizes[0]:.3g} times as large"
        yield (
            f"From batch size {sizes[0]:,} to {best:,}, {larger}, steps to the target fall from {first:,} to "
            f"{other:,}, {first / other:.3g} times fewer."
        )
        yield f"{other:,} at batch size {best:,}"
        return
    yield perfect_words(own, answered)
    yield useful_words(own, answered)
    yield from dominated_words(own)
    yield from critical_words(own, answered)
    yield from caveat_words(own, answered)
    yield f"All {len(sizes)} batch sizes reach the target."
    yield f"{own.tuned[best]:,} at any batch size"
    value, limiting = own.hardest
    yield f"Every batch size reaches any target easier than {value:.4g}; the limit is set by batch size {limiting:,}."
    yield f"No batch size reaches a target harder than {own.hardest_of_any:.4g}."


# Without numbers of the data, or with those of targets at which results change, which are taken as they are.
TAKEN = re.compile(
    r"Goals: |Before you rely on|.*; all \d+ together|Or pool the trials|.*\(in mlperf|Source of the target|"
    r"Steps to .* by batch size:|.*McCandlish et al\. 2018|Results change at "
)


def numbered(page: str) -> set[str]:
    """Return the sentences of a page with a number."""
    return {each for each in sentences_of(page) if re.search(r"\d", each) and not TAKEN.match(each)}


def split(texts: Iterable[str]) -> set[str]:
    """Return the sentences of texts, as those of a page."""
    return numbered("".join(f"<main><p>{html.escape(text)}</p></main>" for text in texts))


@pytest.mark.slow
def test_each_sentence_of_pages_of_workloads_is_recomputed(release: Release) -> None:
    counts = {}
    for name in PAGES:
        own, answered = release.known(name)
        found = numbered(release.page(f"/workloads/{name}"))
        assert found == split(expected_of(name, own, answered))
        counts[name] = len(found)
    # Three fewer on most pages than when key figures said the regimes again.
    assert sum(counts.values()) >= 90


@pytest.mark.slow
def test_each_number_of_the_start_page_is_recomputed(release: Release) -> None:
    """Its counts, and the sentences of each finding."""
    page = release.page("/")
    found, expected = numbered(page), set[str]()
    counted = {"studies": "studies", "trials": "trials", "measurements": "measurements"}
    counts = {name: release.rows(f"SELECT count(*) AS n FROM {table}")[0]["n"] for name, table in counted.items()}
    workloads = release.rows(
        f"SELECT DISTINCT {', '.join(NAMES)} FROM measurements WHERE metric <> 'val/converged' ORDER BY ALL"
    )
    counts |= {"workloads": len(workloads), "collections": len({row["collection"] for row in workloads})}
    shown = dict(re.findall(r"<dt>(\w+)</dt><dd>([\d,]+)</dd>", page))
    assert {name: int(number.replace(",", "")) for name, number in shown.items()} == counts
    for name, sentence in re.findall(
        r'<li><a href="/workloads/([^?"]*)\?.*?<span class="sentence">(.*?)</span>', page, re.DOTALL
    ):
        own, answered = release.known(name)
        assert answered is not None
        ends = (perfect_words(own, answered), useful_words(own, answered))
        expected |= split([text.partition(" With the noise of steps, ")[0] for text in ends])
        (small,) = split([html.unescape(re.sub("<[^>]*>", "", sentence))])
        steps = own.tuned
        best = min(steps, key=lambda size: (steps[size], size))
        numbers = [min(steps), steps[min(steps)], best, steps[best]]
        told = [int(each.replace(",", "")) for each in re.findall(r"[\d,]*\d", small.partition(": ")[2])]
        assert told == [numbers[1], numbers[0], numbers[3], numbers[2]], name
        expected.add(small)
    assert expected <= found
    assert len(expected) >= 10


@pytest.mark.slow
def test_each_critical_batch_size_of_the_atlas_is_recomputed(release: Release) -> None:
    """Estimates, ranges of batch sizes and scatter; intervals, doubts and refusals are those of the answer."""
    answer = release.answer("/v1/analysis/atlas")
    page = release.page("/batch-size")
    rows = answer["estimates"]
    known = [row for row in rows if row["critical_batch_size"] is not None]
    assert f"{len(known)} of {len(rows)}" in page.replace("\n", " ")
    for row in rows:
        own = release.workload(row["workload"])
        sizes = sorted(own.settings)
        assert (row["n_batch_sizes"], row["smallest"], row["largest"]) == (len(own.tuned), sizes[0], sizes[-1]), row
        if row in known:
            value, _, rms = own.fit
            assert row["critical_batch_size"] == pytest.approx(value, rel=2e-3), row["workload"]
            shown = f"{value:,.2g}" if value < 10 else f"{value:,.0f}"
            scatter = re.search(r"scatter by (\d+)%", row["why"])
            assert scatter is None or int(scatter[1]) == round(100 * rms)
            assert shown in page or f"{row['critical_batch_size']:,.0f}" in page
    assert len(known) >= 8
