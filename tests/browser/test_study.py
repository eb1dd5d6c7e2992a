"""The page of a study in a browser: which trials reached 5% error at batch size 64, and with what learning rate."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.visit import Visit

pytestmark = pytest.mark.slow

WORKLOAD = "bundled/digits/mlp_64/nesterov_momentum"


def test_study_filter_shows_reached_trials_with_learning_rates(visit: Visit) -> None:
    page = visit.open(f"/studies/{WORKLOAD}/64")
    page.get_by_label("Target: less than").fill("0.05")
    page.get_by_role("button", name="Set target").click()
    answer = page.locator(".answer")
    answer.get_by_text("47 of 64 trials reached val/classification_error < 0.05.").wait_for()
    page.locator("select[name=reached]").select_option("reached")
    page.get_by_role("button", name="Filter").click()
    page.get_by_text("47 trials; target").wait_for()
    page.get_by_role("link", name="learning_rate").click()
    page.locator("th[aria-sort=ascending]").get_by_text("learning_rate").wait_for()
    shown = page.locator("table.trials tbody td:nth-child(6)")
    expect(shown).to_have_count(47)
    rates = [float(text) for text in shown.all_inner_texts()]
    assert rates == sorted(rates)
    answer.get_by_role("link").click()
    page.get_by_text("It reached val/classification_error < 0.05 after").wait_for()
    expect(page.get_by_text("This is the study's best trial")).to_be_visible()


def test_changing_the_metric_selects_its_default_target(visit: Visit) -> None:
    page = visit.open(f"/studies/{WORKLOAD}/64?target=0.05")
    page.locator("select[name=metric]").select_option("val/cross_entropy_error")
    page.locator(".answer").get_by_text("val/cross_entropy_error < 0.12").wait_for()
    visit.settle()
    assert "0.05" not in page.url
