"""A newcomer's first steps, from the root."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.visit import Visit

pytestmark = pytest.mark.slow

SGD, MOMENTUM = "bundled/digits/mlp_64/sgd", "bundled/digits/mlp_64/momentum"


def test_home_answer_links_to_its_page(visit: Visit) -> None:
    page = visit.open("/")
    expect(page.locator("main")).to_contain_text("Beyond batch size 512 larger ones, up to ")
    page.get_by_role("link", name="How far does Nesterov momentum scale for mlp_64 on Digits?").click()
    visit.settle(".live canvas")
    assert page.url.endswith("/mlp_64/nesterov_momentum?metric=val/classification_error&target=0.05")


def test_typing_filters_workloads_and_keeps_selected_ones(visit: Visit) -> None:
    page = visit.open("/workloads")
    sgd, momentum = (f"mlp_64 on Digits, {name}" for name in ("SGD", "momentum"))
    page.get_by_label(sgd).check()
    page.get_by_label("Words").fill("mlp_64 momentum")
    expect(page.get_by_role("status")).to_contain_text("2 of 11 workloads")
    expect(page.get_by_role("checkbox", name=sgd)).to_be_checked()
    page.wait_for_url("**/workloads?*q=mlp_64+momentum**")
    page.get_by_label(momentum).check()
    chosen = page.evaluate("""() => new Promise((resolve) => {
      const form = document.getElementById('workload-search');
      form.addEventListener('formdata', ({ formData }) => setTimeout(() => resolve([...formData])));
      form.addEventListener('submit', (event) => { new FormData(form); event.preventDefault(); });
      form.querySelector('[formaction="/compare"]').click();
    })""")
    assert chosen == [["workload", SGD], ["workload", MOMENTUM]]
