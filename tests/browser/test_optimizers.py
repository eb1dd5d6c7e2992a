"""The page of optimizers in a browser: what is chosen is shown at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.visit import Site
from tests.made_up_league import league_lake
from tests.service.running import served

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def competitions(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    lake = league_lake(tmp_path_factory).folder
    with served(lake, lake=str(lake), sql_enabled=False, log_format="off") as running:
        yield Site(browser, running.url, running.url)


def test_another_competition_leaves_out_the_submissions_of_the_first(competitions: Site) -> None:
    with competitions.visiting() as visit:
        page = visit.open("/optimizers?first=amos&second=nadamp")
        page.get_by_label("against").select_option("baseline")
        page.wait_for_url("**/optimizers?collection=*&first=amos&second=baseline")
        expect(page.locator(".verdict")).to_contain_text("Amos")
        page.get_by_label("Competition").select_option("algoperf/v06/self_tuning")
        page.wait_for_url("**/optimizers?collection=algoperf%2Fv06%2Fself_tuning")
        expect(page.locator(".lead")).to_contain_text("It is the only submission.")
