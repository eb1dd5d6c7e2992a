"""Every chart of every page links to its data, its picture and its query, and these work."""

from __future__ import annotations

from collections.abc import Sequence
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from fastapi.testclient import TestClient

from tests.made_up_lake import ERROR
from tests.service.web.reading import Page

SGD = "shelf/mnist/cnn/sgd"
GOAL = {"metric": ERROR, "target": "0.25"}
PAGES = (
    f"/workloads/{SGD}?{urlencode(GOAL)}",
    f"/studies/{SGD}/64?{urlencode(GOAL)}",
    f"/compare?{urlencode({'workload': [SGD, 'shelf/deep/mnist/cnn/sgd'], **GOAL}, doseq=True)}",
)


def charts(text: str) -> Sequence[str]:
    """Return the HTML of each chart."""
    figures = [figure.partition("</figure>")[0] for figure in text.split('<figure class="chart"')[1:]]
    return [figure.partition(">")[2] for figure in figures]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.split("/")[1].partition("?")[0])
def test_every_chart_links_to_its_data_picture_and_query(client: TestClient, path: str) -> None:
    fragments = charts(client.get(path).text)
    assert fragments
    for chart in fragments:
        page = Page(chart)
        endings = {link.partition("?")[0].rpartition(".")[2] for link in page.links if link.startswith("/v1/")}
        assert {"csv", "json", "parquet", "svg", "png", "pdf"} <= endings
        assert all("release=1" in link for link in page.links if link.startswith("/v1/"))
        assert [line.partition(" ")[0].partition(".")[0] for line in page.lines][:3] == ["SELECT", "curl", "pandas"]


@pytest.mark.parametrize("path", PAGES[:2], ids=("workload", "study"))
def test_links_of_charts_to_data_pictures_and_queries_work(client: TestClient, path: str) -> None:
    app: Any = client.app
    for chart in charts(client.get(path).text):
        page = Page(chart)
        for link in page.links:
            if link.startswith("/v1/") and ".png" not in link and ".pdf" not in link and ".svg" not in link:
                assert client.get(link).status_code == 200, link
        statement = unescape(page.lines[0])
        assert app.state.releases.view().cursor().execute(statement).fetchall()
