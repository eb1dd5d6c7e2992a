"""A visit records errors in its window, and axe-core finds accessibility problems."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import violations
from tests.browser.visit import Site, Visit
from tests.servers.processes import wait_until

pytestmark = pytest.mark.slow

INLINE = "const found = document.createElement('script'); found.textContent = '1'; document.body.append(found);"
_BRING_THE_PICTURE_FORWARD = """() => {
  const item = document.querySelector('li img').parentElement;
  item.parentElement.prepend(item);
}"""


@pytest.fixture(scope="module")
def window(explorer: Site) -> Iterator[Visit]:
    with explorer.visiting() as visit:
        yield visit


@pytest.mark.parametrize(
    ("does", "kind"),
    [
        ("console.error('lost')", "console error: lost"),
        ("setTimeout(() => { throw new Error('broken'); })", "script: broken"),
        ("setTimeout(() => alert('boo'))", "dialog: boo"),
        ("fetch('/nowhere').then((answer) => answer.text())", "answer: http://losslake.example/nowhere: 404"),
        ("fetch('http://elsewhere.example/').catch(() => 0)", "policy: connect-src forbids http://elsewhere.example"),
        ("open('http://elsewhere.example/')", "another host: http://elsewhere.example/"),
        (INLINE, "policy: script-src-elem forbids inline"),
    ],
)
def test_page_errors_are_faults(window: Visit, does: str, kind: str) -> None:
    window.faults.clear()
    page = window.open("/releases")
    page.evaluate(f"() => {{ {does} }}")

    def is_reported() -> bool:
        # What happens in the browser becomes known while the test waits for something of it.
        window.settle()
        return any(fault.startswith(kind) for fault in window.faults)

    wait_until(is_reported, f"a fault that begins with {kind!r}")


def test_expected_status_is_no_fault(visit: Visit) -> None:
    visit.expected_statuses.add(404)
    page = visit.open("/nowhere")
    expect(page.locator("main")).to_contain_text("nothing at /nowhere")


def test_axe_reports_missing_labels_and_low_contrast_under_any_csp(visit: Visit) -> None:
    page = visit.open("/releases")
    assert violations(page) == []
    page.evaluate("""() => {
      const dim = document.createElement('p');
      dim.textContent = 'hardly seen';
      dim.style.color = '#888';
      dim.style.backgroundColor = '#999';
      document.querySelector('main').append(dim, document.createElement('img'));
    }""")
    assert {violation.partition(":")[0] for violation in violations(page)} == {"image-alt", "color-contrast"}
    assert [violation.partition(":")[0] for violation in violations(page, "colours")] == ["color-contrast"]


def test_axe_checks_eight_repeated_elements_and_restores_the_page(visit: Visit) -> None:
    page = visit.open("/releases")
    page.evaluate("""() => {
      const list = document.createElement('ol');
      for (let n = 1; n <= 20; n++) list.append(Object.assign(document.createElement('li'), { textContent: n }));
      list.children[8].append(document.createElement('img'));
      document.querySelector('main').append(list);
    }""")
    before = page.locator("main ol").last.inner_html()
    assert violations(page) == []
    assert page.locator("main ol").last.inner_html() == before
    page.evaluate(_BRING_THE_PICTURE_FORWARD)
    assert {violation.partition(":")[0] for violation in violations(page)} == {"image-alt"}
