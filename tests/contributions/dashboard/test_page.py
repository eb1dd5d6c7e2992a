"""The page of the dashboard, and what its script is told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_contributions.dashboard.app import DashboardSettings, create_app
from losslake_contributions.dashboard.serve import serve
from losslake_schema.errors import LossLakeError
from tests.contributions.dashboard.recorded_runs import begin, end, loss_rows, write
from tests.servers.processes import wait_until

REACHABLE = (
    "whoever reaches the service from elsewhere would see all runs in ., without a token: leave --host, public_url "
    "and allowed_hosts out, or add --allow-viewers if they may"
)
HOSTILE = "<script>alert(1)</script>\u202e"


@contextmanager
def dashboard(folder: Path, lake: Lake | None = None) -> Iterator[TestClient]:
    settings = DashboardSettings.model_construct(None, log_format="off", sql_enabled=False, live=str(folder))
    with TestClient(create_app(lake, settings)) as client:
        yield client


def changes(client: TestClient, **query: Any) -> dict[str, Any]:
    document: dict[str, Any] = client.get("/live/changes.json", params=query).raise_for_status().json()
    return document


def wait_for_runs(client: TestClient, count: int) -> dict[str, Any]:
    wait_until(lambda: len(changes(client)["order"]) == count, f"{count} runs are shown", pause=0.02)
    return changes(client)


def test_page_shows_runs_while_they_are_recorded(tmp_path: Path) -> None:
    one, two = (begin(tmp_path / name, parameters={"lr": lr}) for name, lr in (("one", 0.1), ("two", 0.2)))
    write(one, loss_rows(range(4)))
    end(two, "INCOMPLETE")
    with dashboard(tmp_path) as client:
        first = wait_for_runs(client, 2)
        assert [curve["path"] for curve in first["curves"]] == ["one"]
        assert (first["curves"][0]["places"], first["best"]) == ([0, 1, 2, 3], {"one": 0.25})
        assert first["columns"] == [
            ["state", False], ["lr", True], ["last step", True], ["last value", True], ["best value", True],
            ["at step", True],
        ]  # fmt: skip
        dash = "\u2013"
        assert [row["cells"] for row in first["rows"]] == [
            ["running", "0.1", "3", "0.25", "0.25", "3"],
            ["finished: INCOMPLETE", "0.2", dash, dash, dash, dash],
        ]
        assert changes(client, since=first["version"]) == {"version": first["version"]}
        page = client.get("/live").text
        assert "one" in page
        assert "finished: INCOMPLETE" in page
        assert str(tmp_path) not in page
        write(two, loss_rows(range(3)))
        wait_until(lambda: changes(client)["version"] > first["version"], "the run that grew is shown", pause=0.02)
        later = changes(client, since=first["version"])
        assert [curve["path"] for curve in later["curves"]] == ["two"]
        assert later["drawn"] == ["one", "two"]
        assert changes(client, q="lr=0.2")["order"] == ["two"]
        assert changes(client, sort="best")["order"] == ["one", "two"]
        assert "None of 2 runs matches" in changes(client, q="nothing")["sentences"][0]
        (mean,) = changes(client, group="settings", q="lr=0.1")["means"]
        assert (mean["name"], mean["values"], mean["low"]) == (
            "all others",
            [1, 0.5, pytest.approx(1 / 3), 0.25],
            mean["values"],
        )
        seconds = changes(client, axis="seconds")["curves"][0]
        assert seconds["places"] == [0, 0.1, 0.2, 0.3]
        assert "2 runs without tokens: left out of the chart." in changes(client, axis="tokens")["sentences"]


def test_texts_of_runs_are_shown_as_texts(tmp_path: Path) -> None:
    run = begin(tmp_path / "run", name=HOSTILE, group=HOSTILE, tags=[HOSTILE], parameters={HOSTILE: HOSTILE})
    begin(tmp_path / "other")
    write(run, loss_rows(range(3), name=f"val/{HOSTILE}"))
    with dashboard(tmp_path) as client:
        wait_for_runs(client, 2)
        for query in ({}, {"q": HOSTILE, "metric": HOSTILE, "group": HOSTILE, "selected": HOSTILE}):
            page = client.get("/live", params=query).text
            assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)" in page


def test_broken_runs_and_links_hide_no_others(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    write(begin(folder / "good"), loss_rows([0]))
    broken = begin(folder / "broken")
    (broken / "run.json").write_text('{"format": "losslake-record/1", ')
    begin(tmp_path / "outside")
    (folder / "link").symlink_to(tmp_path / "outside")
    with dashboard(folder) as client:
        shown = wait_for_runs(client, 2)
        assert shown["order"] == ["broken", "good"]
        assert shown["rows"][0]["notes"] == [
            "It can't be read: broken/run.json is no JSON object: copy the folder of the run again."
        ]
        assert "Symbolic links to folders aren't followed: show the folders themselves." in shown["sentences"]


def test_without_a_lake_the_start_page_leads_to_the_runs(tmp_path: Path) -> None:
    with dashboard(tmp_path) as client:
        assert client.get("/", follow_redirects=False).headers["location"] == "/live"
        wait_until(lambda: "No run is here so far" in client.get("/live").text, "the folder is read", pause=0.02)
        assert client.get("/workloads").status_code == 404
        static = re.findall(r'(?:src|href)="(/static/[^"]+)"', client.get("/live").text)
        assert {client.get(path).status_code for path in static} == {200}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"live": "nowhere"}, "--live nowhere: there is no such folder: give the one with your runs"),
        ({"workers": 2}, "--live works in one process: leave --workers out"),
        ({"host": "0.0.0.0"}, REACHABLE),
        ({"public_url": "https://lake.example"}, REACHABLE),
        ({"allowed_hosts": ("lake.example",)}, REACHABLE),
    ],
)
def test_server_is_refused_with_one_line(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(LossLakeError, match=f"^{re.escape(message)}$"):
        serve(DashboardSettings.model_validate({"live": ".", **settings}))


def test_long_curve_on_a_logarithmic_axis_has_its_first_steps(tmp_path: Path) -> None:
    write(begin(tmp_path / "run"), loss_rows(range(900)))
    with dashboard(tmp_path) as client:
        (linear,) = wait_for_runs(client, 1)["curves"]
        (logarithmic,) = changes(client, log="x")["curves"]
    assert linear["places"][:3] != [0, 1, 2]
    assert logarithmic["places"][:9] == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert len(linear["places"]) <= len(logarithmic["places"]) <= 800
