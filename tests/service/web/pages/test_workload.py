"""The page of a workload shows the numbers of the REST answers and explains missing ones."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from losslake_service.web.workload.answer_words import with_noise
from tests.applications import without_sql
from tests.archives import write_workload
from tests.oracle import Row
from tests.service.web.reading import Page

ERROR, PRECISION, ODD = "val/classification_error", "val/average_precision", "val/odd_thing"
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
KNEE = 16
SGD, MOMENTUM = "tidy/mnist/cnn/sgd", "tidy/mnist/cnn/momentum"
ALONE, ODDLY, NOTHING = "tidy/lone/cnn/sgd", "tidy/odd/cnn/sgd", "tidy/never/cnn/sgd"
MANY, PAIR = "tidy/many/cnn/sgd", "tidy/pair/cnn/sgd"


def _curve(batch_size: int, trial_id: int, slower: float) -> Iterator[Row]:
    """Yield 11 evaluations that fall from 0.9 to 0.05 at step slower * 100 (1 + KNEE/B)."""
    whole = slower * 100 * (1 + KNEE / batch_size)
    for tenth in range(11):
        yield Row(batch_size, trial_id, "COMPLETE", round(whole * tenth / 10), 0.9 - 0.085 * tenth)


def _tidy(slower: float) -> list[Row]:
    rows = [row for size in SIZES for trial in range(1, 5) for row in _curve(size, trial, slower * (1 + 0.2 * trial))]
    rows += [Row(64, 5, "INFEASIBLE", 0, 0.9), Row(64, 6, "INCOMPLETE", 0, 0.9)]
    # The largest batch size never gets below 0.4.
    return [*rows, Row(512, 1, "COMPLETE", 0, 0.9), Row(512, 1, "COMPLETE", 700, 0.4)]


@pytest.fixture(scope="module")
def tidy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("tidy")
    workloads: dict[str, dict[str, list[Row]]] = {
        SGD: {ERROR: _tidy(1.0)},
        MOMENTUM: {ERROR: _tidy(0.5)},
        ALONE: {ERROR: list(_curve(8, 1, 1.0))},
        PAIR: {ERROR: [*_curve(8, 1, 1.0), *_curve(32, 1, 1.0)]},
        ODDLY: {ODD: list(_curve(8, 1, 1.0))},
        NOTHING: {ERROR: [Row(8, 1, "COMPLETE", None, None), Row(8, 2, "COMPLETE", 0, float("nan"))]},
        MANY: {
            ERROR: [
                row
                for size in range(1, 26)
                for row in (Row(size, 1, "COMPLETE", 0, 0.9), Row(size, 1, "COMPLETE", 9000 // size, 0.1))
            ]
        },
    }
    for name, curves in workloads.items():
        collection, _, workload = name.partition("/")
        write_workload(folder / "archive" / collection, workload, curves)
    lake = Lake.create(folder / "lake")
    summary = ingest(lake, [folder / "archive"])
    assert not summary.quarantined
    with TestClient(without_sql(lake), raise_server_exceptions=False) as client:
        yield client


def _page(client: TestClient, workload: str, **query: object) -> str:
    response = client.get(f"/workloads/{workload}?{urlencode(query)}")
    assert response.status_code == 200, response.text
    Page(response.text)
    return response.text


def _answer(client: TestClient, path: str, workload: str, **query: str | float | list[str]) -> Any:
    response = client.get(f"/v1/{path}", params={"workload": workload, "metric": ERROR, **query})
    assert response.status_code == 200, response.text
    return response.json()


def _text(fragment: str) -> str:
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", fragment)).split())


def _inside(text: str, name: str) -> str:
    """Return the inner HTML of the element with an id, up to the first closing tag of its kind."""
    match = re.search(rf'<(\w+) [^>]*id="{name}"[^>]*>(.*?)</\1>', text, re.DOTALL)
    assert match, name
    return match[2]


def _rows(text: str, name: str) -> list[list[str]]:
    rows = re.findall("<tr>(.*?)</tr>", _inside(text, name), re.DOTALL)
    return [[_text(cell) for cell in re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)] for row in rows]


def _figures(text: str) -> dict[str, str]:
    matches = re.findall(r'<div data-figure="(\w+)"><dt>.*?</dt><dd>(.*?)</dd>', text)
    return {name: _text(value) for name, value in matches}


def _sentences(text: str) -> list[str]:
    match = re.search('<ul class="answer">(.*?)</ul>', text, re.DOTALL)
    assert match
    return [_text(item) for item in re.findall("<li>(.*?)</li>", match[1])]


def _numbers(*numbers: float) -> list[str]:
    """Format to two significant digits, or three where two don't distinguish the first from the others."""
    short, long = ([f"{float(f'{number:.{digits}g}'):,.12g}" for number in numbers] for digits in (2, 3))
    return short if short[0] not in short[1:] else long


def test_regime_sentences_match_the_analysis(tidy: TestClient) -> None:
    points = {
        point["break_point"]: point
        for point in _answer(tidy, "analysis/regimes", SGD, target=0.2)["break_points"]
        if point["variant"] == "as defined"
    }
    assert all(point["censoring"] is None for point in points.values())
    sentences = _sentences(_page(tidy, SGD, target=0.2))
    perfect, useful = points["perfect_scaling_end"], points["max_useful_batch_size"]
    text = f"By batch size {perfect['upper_with_noise']} doubling the batch no longer halves the steps (90%)"
    assert perfect["lower_with_noise"] is None
    assert f"{text}; these steps put the end at {perfect['batch_size']}." in sentences
    text = f"Beyond batch size {useful['batch_size']} larger ones, up to 256, save no more steps (within 10%)."
    assert f"{text} {with_noise(useful, 'begins')}" in sentences


def test_critical_batch_size_and_interval_match_the_analysis(tidy: TestClient) -> None:
    estimate = _answer(tidy, "analysis/critical-batch-size", SGD, target=0.2)["estimates"][0]
    value, lower, upper = _numbers(*(estimate[name] for name in ("critical_batch_size", "lower", "upper")))
    text = _page(tidy, SGD, target=0.2)
    assert f"Critical batch size {value} (90% interval {lower} to {upper})" in " ".join(_sentences(text))


@pytest.mark.parametrize("target", [0.2, 0.06, 0.89])
def test_all_estimates_are_offered_where_there_is_one(tidy: TestClient, target: float) -> None:
    text = _page(tidy, SGD, metric=ERROR, target=target)
    estimate = _answer(tidy, "analysis/critical-batch-size", SGD, target=target)["estimates"][0]
    is_offered = "data-estimates" in text
    assert is_offered == (estimate["critical_batch_size"] is not None)
    assert is_offered == ("How sure is the critical batch size?" in text)
    assert is_offered == (target != 0.89)


def test_key_figures_match_the_target_sweep(tidy: TestClient) -> None:
    sweep = _answer(tidy, "analysis/target-sweep", SGD, target_min=0.2, target_max=0.2, n_targets=1, spacing="linear")
    row = sweep["rows"][0]
    text = _page(tidy, SGD, target=0.2)
    figures = _figures(text)
    assert figures["reached"] == "9 of 10"
    assert figures["steps"].startswith(f"{row['fewest_steps']:,} ")


def test_regimes_are_said_once(tidy: TestClient) -> None:
    text = _page(tidy, SGD, target=0.2)
    assert set(_figures(text)) == {"reached", "steps"}
    assert _text(text).count("Critical batch size ") == 1
    answered = re.findall(r'<figure class="chart" id="(\w+)"[^>]* data-answered>', text)
    assert answered == ["scaling"]
    drawn = tidy.get("/v1/figures/scaling.vl.json", params={"workload": SGD, "metric": ERROR, "target": 0.2})
    assert "Shaded: " in drawn.text
    bare = tidy.get(
        "/v1/figures/scaling.vl.json",
        params={"workload": SGD, "metric": ERROR, "target": 0.2, "captioned": False},
    ).json()["usermeta"]
    assert not [note for note in bare["notes"] if note.startswith("Shaded: ")]
    assert [note[:8] for note in bare["results"]] == ["Shaded: "]


def test_slider_stops_show_what_the_page_of_their_target_shows(tidy: TestClient) -> None:
    text = _page(tidy, SGD, target=0.2)
    address = re.search(r'data-stops="(.*?)"', text)
    assert address
    items = tidy.get(html.unescape(address[1]), headers={"accept": "text/html"}).text.split("<li ")[1:]
    stops = {float(_attribute(item, "target")): item for item in items}
    swept = _answer(tidy, "analysis/target-sweep", SGD, n_targets=100)["rows"]
    assert list(stops) == sorted({0.2, *(row["target"] for row in swept)})
    assert [target for target, item in stops.items() if 'aria-current="true"' in item] == [0.2]
    for target in (0.2, *list(stops)[:: len(stops) // 4]):
        page, item = _page(tidy, SGD, target=target), stops[target]
        figures = re.findall(r'<dd data-figure="(\w+)">(.*?)</dd>', item)
        assert {name: _text(value) for name, value in figures} == _figures(page)
        assert f">{_attribute(item, 'text')}</output>" in page
        assert f'aria-valuetext="{_attribute(item, "spoken")}"' in page
        assert f'data-title="{_attribute(item, "title")}"' in page


def _attribute(item: str, name: str) -> str:
    match = re.search(f'data-{name}="(.*?)"', item)
    assert match
    return match[1]


def test_table_rows_match_the_scaling_answer(tidy: TestClient) -> None:
    text = _page(tidy, SGD, target=0.2)
    answer = _answer(tidy, "scaling", SGD, target=0.2)["rows"]
    for shown, row in zip(_rows(text, "study-rows")[:-1], answer, strict=False):
        assert shown[:3] == [f"{row['batch_size']:,}", f"{row['steps']:,}", f"{row['examples']:,}"]
        assert shown[4] == f"trial {row['trial_id']}"
        assert float(shown[5]) == pytest.approx(0.1 * row["trial_id"])
        assert shown[6] == f"{row['n_reached']} of {row['n_trials']}"
    links = Page(text).links
    goal = urlencode({"metric": ERROR, "target": 0.2}, safe="/")
    assert f"/studies/{SGD}/64?{goal}" in links
    assert f"/trials/{SGD}/64/1?{goal}" in links


def test_a_pattern_shows_the_answer_of_the_pool(tidy: TestClient) -> None:
    pool = "tidy/mnist/cnn/*"
    text = _page(tidy, pool, target=0.2)
    assert "<h1>cnn on MNIST, any optimizer \u00b7 tidy</h1>" in text
    answer = _answer(tidy, "scaling", pool, target=0.2)["rows"]
    rows = _rows(text, "study-rows")
    assert len(rows) == len(answer)
    for shown, row in zip(rows[:-1], answer, strict=False):
        assert shown[:2] == [f"{row['batch_size']:,}", f"{row['steps']:,}"]
        assert shown[4] == f"{row['trial_workload'].rpartition('/')[2]} {row['trial_id']}"
    page = Page(text)
    members = [f"/workloads/{SGD}", f"/workloads/{MOMENTUM}"]
    trials = [link for link in page.links if link.startswith("/trials/")]
    assert set(members) < set(page.links)
    assert trials
    assert not [link for link in page.links if link.startswith("/studies/")]
    addresses = {html.unescape(each) for each in re.findall(r'data-(?:live|stops)="(.*?)"', text)}
    for address in {*members, *trials, *addresses}:
        assert tidy.get(address).status_code == 200, address
    assert "FROM pooled_result_at(" in text
    assert f"/workloads/{pool.replace('*', '%2A')}?" in _page(tidy, SGD, target=0.2)


@pytest.mark.parametrize(("pattern", "status"), [("tidy/nowhere/*/*", 404), ("*/*/cnn/sgd?metric=nothing", 404)])
def test_a_pattern_that_matches_nothing_returns_an_error_page(tidy: TestClient, pattern: str, status: int) -> None:
    response = tidy.get(f"/workloads/{pattern}", headers={"accept": "text/html"})
    assert response.status_code == status
    assert "<h1>" in response.text


def test_unreached_batch_size_shows_its_distance_from_the_target(tidy: TestClient) -> None:
    text = _page(tidy, SGD, target=0.2)
    assert _rows(text, "study-rows")[-1][1] == "Never reached within 700 steps; its best value falls 0.2 short"
    assert _sentences(text)[0] == "9 of 10 batch sizes reach the target; no trial does at batch size 512."


def test_table_counts_excluded_trials(tidy: TestClient) -> None:
    by_size = {row[0]: row for row in _rows(_page(tidy, SGD, target=0.2), "study-rows")}
    assert by_size["64"][-2:] == ["1 diverged, 1 incomplete", "0.05"]
    assert by_size["32"][-2] == "\N{EN DASH}"


def test_unreached_target_shows_the_best_value(tidy: TestClient) -> None:
    (sentence,) = _sentences(_page(tidy, SGD, target=0))
    assert "No trial at any batch size reaches val/classification_error < 0. The best value is 0.05" in sentence


def test_target_reached_at_step_0_suggests_a_harder_one(tidy: TestClient) -> None:
    sentences = _sentences(_page(tidy, SGD, target=1))
    assert sentences[0] == "All 10 batch sizes reach the target."
    assert "step 0, before any training" in sentences[1]
    assert len(sentences) == 2


def test_single_batch_size_has_no_comparison(tidy: TestClient) -> None:
    sentences = _sentences(_page(tidy, ALONE, target=0.2))
    assert sentences == [
        "The least is 270 steps, at batch size 8, the only one that was measured.",
        "Its trial reaches the target.",
    ]


@pytest.mark.parametrize("workload", [ALONE, PAIR])
def test_one_or_two_batch_sizes_show_curves_and_no_regimes(tidy: TestClient, workload: str) -> None:
    text = _page(tidy, workload, target=0.2)
    assert "/v1/figures/curves.vl.json" in text
    assert set(_figures(text)) == {"reached", "least"}
    assert not re.search("critical|regime|perfect scaling|target-sweep", text, re.IGNORECASE)


def test_two_batch_sizes_are_compared_in_a_sentence(tidy: TestClient) -> None:
    first, *_ = _sentences(_page(tidy, PAIR, target=0.2))
    assert (
        first == "From batch size 8 to 32, 4 times as large, steps to the target fall from 270 to 135, 2 times fewer."
    )


@pytest.mark.parametrize(("target", "meant"), [(20, "0.2"), (1.5, "0.015"), (0.9, None), (101, None)])
def test_percentage_for_a_fraction_is_asked_about(tidy: TestClient, target: float, meant: str | None) -> None:
    found = re.search(r"Did you mean <a href=\"[^\"]+\">(.*?)</a>", _page(tidy, SGD, target=target))
    assert (found and found[1]) == meant


@pytest.mark.parametrize("target", [20, 101, -1])
def test_target_beyond_the_range_of_its_metric_is_not_answered(tidy: TestClient, target: float) -> None:
    text, default = _page(tidy, SGD, target=target), _page(tidy, SGD)
    notice = f"The target can't be {target}, since {ERROR} lies between 0 and 1: this is about the default goal."
    assert notice in _text(text)
    assert "The target can't be" not in _text(default)
    assert _sentences(text) == _sentences(default)
    for path in (f"/studies/{SGD}/8", f"/trials/{SGD}/8/1"):
        response = tidy.get(path, params={"metric": ERROR, "target": target}, headers={"accept": "text/html"})
        assert response.status_code == 422
        assert "lies between 0 and 1" in response.text


def test_negative_zero_target_is_shown_as_zero(tidy: TestClient) -> None:
    assert 'value="0.0"' in _page(tidy, SGD, target="-0.0")


def test_default_target_is_reached_at_every_batch_size(tidy: TestClient) -> None:
    text = _page(tidy, SGD)
    assert "Goals of this workload" not in text
    assert "All 10 batch sizes reach the target." in _sentences(text)


def test_table_has_every_batch_size(tidy: TestClient) -> None:
    assert len(_rows(_page(tidy, MANY, target=0.2), "study-rows")) == 25


def test_metric_of_unknown_direction_needs_a_direction(tidy: TestClient) -> None:
    text = _page(tidy, ODDLY)
    assert "It isn't known whether lower or higher values of val/odd_thing are better" in _text(text)
    page = _page(tidy, ODDLY, metric=ODD, direction="minimize", target=0.2)
    assert _rows(page, "study-rows")[0][1] == "270"
    assert "direction=minimize" in next(link for link in Page(page).links if link.startswith(f"/studies/{ODDLY}/8"))


def test_workload_without_finite_values_has_a_page(tidy: TestClient) -> None:
    assert _sentences(_page(tidy, NOTHING)) == [
        "No completed trial has a finite value of val/classification_error, so no target is reached."
    ]


def test_best_values_within_a_budget_match_the_answer(tidy: TestClient) -> None:
    text = _page(tidy, SGD, target=0.2, step_budget=150)
    answer = _answer(tidy, "best", SGD, step_budget=150)["rows"]
    rows = _rows(text, "best-rows")
    assert [row[:2] for row in rows] == [[f"{row['batch_size']}", f"{row['best_value']:.4g}"] for row in answer]
    assert "Without a limit: the best value 0.05 is at batch size 1" in _text(_inside(text, "conclusions"))
    assert "step_budget=150" in next(address for address in Page(text).loads if "/figures/best.svg" in address)


def test_page_links_to_comparisons_of_optimizers(tidy: TestClient) -> None:
    links = Page(_page(tidy, SGD, target=0.2)).links
    pair = urlencode([("workload", SGD), ("workload", MOMENTUM), ("metric", ERROR), ("target", 0.2)], safe="/")
    assert f"/compare?{pair}" in links
    # A target that the page proposes is one for this workload, not for the others.
    both = urlencode([("workload", SGD), ("workload", MOMENTUM)], safe="/")
    assert f"/compare?{both}" in Page(_page(tidy, SGD)).links
    assert not [link for link in Page(_page(tidy, ALONE)).links if link.startswith("/compare?")]


def test_page_says_how_to_cite_its_collection(tidy: TestClient) -> None:
    (row,) = tidy.get("/v1/cite", params={"workload": MANY}).json()["rows"]
    *_, text, bibtex = Page(tidy.get(f"/workloads/{MANY}").text).lines
    assert text == f"{row['text']} http://localhost/releases/1"
    assert row["citation"] in text
    assert bibtex.startswith("@misc{")


def test_every_link_of_a_pinned_workload_keeps_the_release(tidy: TestClient) -> None:
    links = Page(_page(tidy, SGD, target=0.2, release=1)).links
    about = [link for link in links if link.startswith(("/studies/", "/trials/", "/workloads/", "/compare?"))]
    assert len(about) > 20
    assert all("release=1" in link for link in about)


def test_json_ld_lists_working_downloads(tidy: TestClient) -> None:
    text = _page(tidy, SGD, target=0.2)
    match = re.search('<script type="application/ld\\+json">(.*?)</script>', text)
    assert match
    document = json.loads(match[1])
    assert document["@type"] == "Dataset"
    assert document["isPartOf"]["url"] == "http://localhost/"
    for distribution in document["distribution"]:
        response = tidy.get(distribution["contentUrl"].removeprefix("http://localhost"))
        assert response.headers["content-type"].startswith(distribution["encodingFormat"])


def test_every_figure_and_answer_of_the_page_loads(tidy: TestClient) -> None:
    text = _page(tidy, SGD, target=0.2)
    addresses = {html.unescape(each) for each in re.findall(r'data-(?:live|stops)="(.*?)"', text)}
    addresses |= {link for link in Page(text).links if link.startswith("/v1/") and link.endswith(".json")}
    assert len(addresses) == 6
    for address in addresses:
        assert tidy.get(address).status_code == 200, address


@pytest.mark.parametrize("query", ["metric=nothing", "target=nan", "target=x", "step_budget=-1", "direction=up"])
def test_invalid_parameter_returns_an_error_page(tidy: TestClient, query: str) -> None:
    response = tidy.get(f"/workloads/{SGD}?{query}", headers={"accept": "text/html"})
    assert response.status_code in (404, 422)
    assert "<h1>" in response.text


def test_page_of_some_trials_says_so_and_counts_only_them(tidy: TestClient) -> None:
    text = _page(tidy, SGD, target=0.2, where="learning_rate=0.2")
    assert "of trials with <strong>learning_rate=0.2</strong>" in text
    answer = _answer(tidy, "scaling", SGD, target=0.2, where="learning_rate=0.2")["rows"]
    rows = _rows(text, "study-rows")
    assert [row[1] for row in rows] == [f"{row['steps']:,}" for row in answer]
    assert {row[5] for row in rows} == {"1 of 1"}
    links = [link for link in Page(text).links if link.startswith((f"/workloads/{SGD}", f"/studies/{SGD}"))]
    assert links
    assert all("where=learning_rate%3D0.2" in link for link in links)
    addresses = {html.unescape(each) for each in re.findall(r'data-(?:live|stops)="(.*?)"', text)}
    for address in addresses:
        assert "where=learning_rate%3D0.2" in address
        assert tidy.get(address).status_code == 200, address


def test_conditions_survive_every_way_on_from_the_page(tidy: TestClient) -> None:
    where = ["learning_rate=0.2", "learning_rate=0.4"]
    response = tidy.get(f"/workloads/{SGD}", params={"target": 0.2, "where": ["", *where]})
    text = response.text
    assert "of trials with <strong>learning_rate=0.2 or 0.4</strong>" in text
    forms = re.findall(r"<form [^>]*>.*?</form>", text.partition('<main id="main">')[2], re.DOTALL)
    for form in forms:
        if "data-applies" in form or "#advice" in form:
            assert all(f'value="{each}"' in form for each in where), form
    ways = {}
    for path in ("/viewer?", "/compare?"):
        ways[path] = next(link for link in Page(text).links if link.startswith(path))
        assert [value for name, value in parse_qsl(ways[path].partition("?")[2]) if name == "where"] == where
    viewer = tidy.get(ways["/viewer?"]).text
    assert "those with learning_rate=0.2 or 0.4" in viewer
    n_trials = sum(row["n_trials"] for row in _answer(tidy, "scaling", SGD, target=0.2, where=where)["rows"])
    assert f"of {n_trials} trials in 9 studies" in _text(viewer)
    assert "colour=learning_rate" in ways["/viewer?"]
    compared = tidy.get(ways["/compare?"])
    assert compared.status_code == 200
    assert "Only trials with <strong>learning_rate=0.2 or 0.4</strong>" in compared.text
    fewest = [row["steps"] for row in _answer(tidy, "scaling", MOMENTUM, target=0.2, where=where)["rows"]]
    assert all(f">{steps:,}</a>" in compared.text for steps in fewest)
    assert "relative to" not in compared.text.partition("<tbody>")[2]
    refused = tidy.get(ways["/compare?"].replace("0.2", "7"), headers={"accept": "text/html"})
    assert refused.status_code == 422


def test_page_refuses_what_no_trial_has(tidy: TestClient) -> None:
    response = tidy.get(f"/workloads/{SGD}?where=learning_rate=7", headers={"accept": "text/html"})
    assert response.status_code == 422
    assert "no trial of" in response.text
