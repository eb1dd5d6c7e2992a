"""The benchmark of pages asks for every kind of page."""

from __future__ import annotations

import random

import pytest
from starlette.routing import compile_path

from bench.pages import PAGES, Draw
from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView
from losslake_ingest.run import ingest
from losslake_service.web.paths import PAGES as KINDS
from tests.archives import write_workload
from tests.oracle import Row

ERROR = "val/classification_error"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("pages")
    for optimizer in ("sgd", "adam"):
        rows = [Row(b, t, "COMPLETE", s, 30 / (s + 30 + t)) for b in (8, 16) for t in (3, 5) for s in range(0, 99, 9)]
        write_workload(folder / "archive" / "small", f"mnist/cnn/{optimizer}", {ERROR: rows})
    lake = Lake.create(folder / "lake")
    assert not ingest(lake, [folder / "archive"]).quarantined
    return lake


@pytest.fixture(scope="module")
def addresses(lake: Lake) -> list[str]:
    draw = Draw(ReleaseView.open(lake, lake.release()), random.Random(1))
    return [address(draw) for _, address in PAGES]


def test_every_kind_of_page_is_asked_for(addresses: list[str]) -> None:
    ways = [compile_path(kind.path)[0] for kind in KINDS]
    assert [way.pattern for way in ways if not any(way.match(address.partition("?")[0]) for address in addresses)] == []
