"""The SQL page without scripts, and the data that it gives to its scripts."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from losslake.index.serving import open_release
from losslake.index.view_texts import MACROS, VIEWS
from losslake.lake.lake import Lake
from tests.applications import client_with_sql, without_sql
from tests.made_up_lake import ERROR
from tests.service.web.reading import Page

EVIL = "<script>alert(1)</script>"
ENDLESS = "SELECT count(*) FROM range(100000) a, range(100000) b, range(1000) c"
STUDIES = "SELECT * FROM studies ORDER BY ALL LIMIT 1"


@pytest.fixture(scope="module")
def client(lake: Lake) -> Iterator[TestClient]:
    with client_with_sql(lake) as client:
        yield client


def run(client: TestClient, statement: str, **more: Any) -> Any:
    return client.get("/sql", params={"q": statement, "run": 1, **more}, headers={"accept": "text/html"})


def cells(text: str) -> list[list[tuple[str, str]]]:
    """Return class and text of each cell, by row."""
    body = text.partition("<tbody>")[2].partition("</tbody>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    matches = [re.findall(r'<td class="([^"]*)">(.*?)</td>', row, re.DOTALL) for row in rows]
    return [[(kind, html.unescape(re.sub("<[^>]*>", "", cell))) for kind, cell in row] for row in matches]


def typed(text: str) -> str:
    match = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", text, re.DOTALL)
    assert match is not None
    return html.unescape(match[1])


def problem(text: str) -> str:
    match = re.search(r'<p id="problem"[^>]*>(.*?)</p>', text, re.DOTALL)
    assert match is not None
    return html.unescape(match[1])


def known(text: str) -> Any:
    return json.loads(text.partition('id="known">')[2].partition("</script>")[0])


@pytest.mark.slow
def test_rows_come_from_the_requested_release(client: TestClient, lake: Lake) -> None:
    question = f"SELECT batch_size, steps, trial_id, value FROM result_at('{ERROR}', 0.25) ORDER BY ALL"
    rows = open_release(lake, lake.release()).execute(question).fetchall()
    shown = [[text for _, text in row] for row in cells(run(client, question).text)]
    assert shown == [["null" if value is None else str(value) for value in row] for row in rows]


def test_numbers_nan_and_null_are_distinguished(client: TestClient) -> None:
    statement = (
        "SELECT 1.5::DOUBLE a, 'nan'::DOUBLE b, '-inf'::DOUBLE c, NULL::INT d, 'NaN' e, [1, 2] f, 9007199254740993 g"
    )
    (row,) = cells(run(client, statement).text)
    assert row == [
        ("number number", "1.5"),
        ("odd number", "NaN"),
        ("odd number", "-Infinity"),
        ("none number", "null"),
        ("text", "NaN"),
        ("text", "[1,2]"),
        ("number number", "9007199254740993"),
    ]


def test_names_link_to_their_pages_in_the_release(client: TestClient) -> None:
    (row,) = client.get("/v1/trials?limit=1&fields=trial").json()["rows"]
    *collection, dataset, model, optimizer, batch_size, trial_id = row["trial"].split("/")
    statement = f"""FROM trials
        WHERE collection = '{"/".join(collection)}' AND dataset = '{dataset}' AND model = '{model}'
          AND optimizer = '{optimizer}' AND batch_size = {batch_size} AND trial_id = {trial_id}"""
    links = Page(run(client, statement, release=1).text).links
    study = row["trial"].rpartition("/")[0]
    for path in (f"/workloads/{study.rpartition('/')[0]}", f"/studies/{study}", f"/trials/{row['trial']}"):
        assert f"{path}?release=1" in links
    paths = "SELECT 'a/b/c/d' workload, 'a/b/c/d/8' study, 'a/b/c/d/8/1' trial, 'x' optimizer"
    links = Page(run(client, paths).text).links
    assert {"/workloads/a/b/c/d", "/studies/a/b/c/d/8", "/trials/a/b/c/d/8/1"} <= set(links)
    parts = "SELECT 'a' collection, 'b' dataset, 'c' model, 'd' optimizer"
    assert "/workloads/a/b/c/d" in Page(run(client, parts).text).links
    assert "/trials/a/b/c/d/8/1" in Page(run(client, f"{parts}, 8 batch_size, 1 trial_id").text).links
    no_paths = "SELECT 'a' workload, '//' study, 'a/b/c/d/8/x' trial, 'a' collection"
    assert not [link for link in Page(run(client, no_paths).text).links if "/a" in link and "sql" not in link]


def test_long_result_is_cut_with_a_note(client: TestClient) -> None:
    whole, cut = run(client, "FROM range(200)").text, run(client, "FROM range(201)").text
    assert (len(cells(whole)), len(cells(cut))) == (200, 200)
    assert "the result has more" not in whole
    assert "The downloads below have them, up to the limits stated there." in cut
    (row,) = cells(run(client, "SELECT repeat('x', 10000) AS x").text)
    assert row[0][1].startswith("x" * 500 + "… (9,500 more")


@pytest.mark.parametrize(
    ("statement", "status", "said"),
    [
        ("SELECT 1 AS a,\n  colour FROM trials", 422, 'Line 2, column 3: Referenced column "colour" not found'),
        ("SELEC 1", 422, "Line 1, column 1: "),
        ("COPY (SELECT 1) TO '/tmp/x'", 422, "COPY is not allowed"),
    ],
)
def test_error_is_shown_beside_the_statement(client: TestClient, statement: str, status: int, said: str) -> None:
    response = run(client, statement)
    assert response.status_code == status
    assert said in problem(response.text)
    assert typed(response.text) == statement


def test_time_limit_is_shown_beside_the_statement(lake: Lake) -> None:
    with client_with_sql(lake, sql_seconds=0.5) as client:
        response = run(client, ENDLESS)
    assert response.status_code == 422
    assert "longer than 0.5 s" in problem(response.text)
    assert typed(response.text) == ENDLESS


@pytest.mark.parametrize(
    "statement", [f"SELECT '{EVIL}' AS \"{EVIL}\"", f"SELECT {EVIL}", f"\n{EVIL}</textarea>", "{{7*7}}"]
)
def test_statement_and_result_are_escaped(client: TestClient, statement: str) -> None:
    for response in (run(client, statement), client.get("/sql", params={"q": statement})):
        page = Page(response.text)
        assert set(page.scripts) <= {"module", "application/json"}
        assert typed(response.text) == statement
        assert EVIL not in response.text


def test_column_name_is_escaped(client: TestClient) -> None:
    headers = re.findall(r"<th scope[^>]*>(.*?)</th>", run(client, f'SELECT 1 AS "{EVIL}"').text)
    assert [html.unescape(header) for header in headers] == [EVIL]


def test_statement_in_the_url_runs_only_without_scripts(client: TestClient) -> None:
    text = client.get("/sql", params={"q": STUDIES, "release": 1}).text
    (address,) = re.findall(r'<noscript><meta http-equiv="refresh" content="0; url=([^"]*)"></noscript>', text)
    assert cells(text) == []
    assert len(cells(client.get(html.unescape(address)).text)) == 1
    assert "<noscript>" not in run(client, STUDIES).text


def test_downloads_and_code_lines_hold_statement_and_release(client: TestClient) -> None:
    statement = "SELECT 'it''s' AS a, \"batch_size\" FROM studies -- 100%"
    page = Page(run(client, statement).text)
    (address,) = (link for link in page.links if link.startswith("/v1/sql.json"))
    answer = client.get(address).json()
    assert answer["release"] == 1
    assert {row["a"] for row in answer["rows"]} == {"it's"}
    assert {link.partition("?")[0] for link in page.links} >= {
        f"/v1/sql.{each}" for each in ("csv", "parquet", "arrow")
    }
    query = address.partition("?")[2]
    assert f"curl 'http://localhost/v1/sql?{query}'" in page.lines


def test_every_example_runs(client: TestClient) -> None:
    examples = [link for link in Page(client.get("/sql").text).links if link.startswith("/sql?q=")]
    first_rows = [link for link in examples if "LIMIT" in link and "show=" not in link]
    assert len(first_rows) >= len(VIEWS) + len(MACROS)
    for address in examples:
        if "show=" in address or "largest" in address or address in first_rows[:2]:
            response = client.get(f"{address}&run=1")
            assert (response.status_code, problem(response.text)) == (200, "")


def test_page_describes_every_column_of_every_table(client: TestClient, lake: Lake) -> None:
    text = client.get("/sql").text
    shown = re.findall(r'<details class="schema" data-table="(\w+)"(.*?)</details>', text, re.DOTALL)
    tables = {name: re.findall(r'data-column="(\w+)".*?class="quiet">(.*?)</span>', body) for name, body in shown}
    connection = open_release(lake, lake.release())
    assert set(tables) == {*VIEWS, *MACROS}
    for name, columns in tables.items():
        source = f"{name}('{ERROR}', 0.5)" if name in MACROS else name
        described = connection.execute(f"DESCRIBE FROM {source}").fetchall()
        assert [column for column, _ in columns] == [row[0] for row in described]
        assert all(doc.endswith(".") for _, doc in columns)


def test_scripts_receive_the_names_of_the_release(client: TestClient) -> None:
    names = known(client.get("/sql").text)
    assert names["release"] == 1
    assert names["names"]["collection"] == ["shelf", "shelf/deep"]
    assert ERROR in names["names"]["metric"]
    assert "arg_min" in names["functions"]
    assert "read_csv" not in names["functions"]
    assert names["themes"]["light"]["background"] != names["themes"]["dark"]["background"]


def test_only_a_page_without_a_result_has_an_etag(client: TestClient) -> None:
    known_as = {"if-none-match": client.get("/sql").headers["etag"]}
    assert client.get("/sql", headers=known_as).status_code == 304
    assert client.get("/sql?q=FROM+studies", headers=known_as).status_code == 200
    assert "etag" not in run(client, "SELECT random()").headers


def test_disabled_sql_page_explains_alternatives(lake: Lake) -> None:
    with TestClient(without_sql(lake)) as client:
        response = run(client, STUDIES)
    page = Page(response.text)
    assert response.status_code == 200
    assert "switched SQL off" in response.text
    assert [line for line in page.lines if "duckdb -c" in line and "http://localhost/v1/releases/1" in line]
    assert typed(response.text) == STUDIES
    assert 'name="run"' not in response.text
