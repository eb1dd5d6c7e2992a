"""A newcomer's first steps, from the root."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.visit import Visit

SGD, MOMENTUM = "bundled/digits/mlp_64/sgd", "bundled/digits/mlp_64/momentum"


def test_the_root_answers_a_question_and_one_click_leads_to_the_page_about_it(visit: Visit) -> None:
    page = visit.open("/", ".live canvas")
    expect(page.locator("main")).to_contain_text("Beyond batch size 512 larger ones save no more steps")
    page.get_by_role("link", name="How far does nesterov_momentum scale on digits/mlp_64?").click()
    visit.settle(".live canvas")
    assert page.url.endswith("/mlp_64/nesterov_momentum?metric=val/classification_error&target=0.05")


def test_the_list_of_workloads_follows_what_is_typed_and_keeps_what_is_ticked(visit: Visit) -> None:
    page = visit.open("/workloads")
    page.get_by_label(f"Compare {SGD}").check()
    page.get_by_label("Words").fill("mlp_64 momentum")
    expect(page.get_by_role("status")).to_contain_text("2 of 11 workloads")
    expect(page.get_by_role("checkbox", name=SGD)).to_be_checked()
    assert "q=mlp_64+momentum" in page.url
    page.get_by_label(f"Compare {MOMENTUM}").check()
    chosen = page.evaluate("""() => new Promise((resolve) => {
      const form = document.getElementById('workload-search');
      form.addEventListener('formdata', ({ formData }) => setTimeout(() => resolve([...formData])));
      form.addEventListener('submit', (event) => { new FormData(form); event.preventDefault(); });
      form.querySelector('[formaction="/compare"]').click();
    })""")
    assert chosen == [["workload", SGD], ["workload", MOMENTUM]]
