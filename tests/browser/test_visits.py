"""A visit notices what goes wrong in its window, and axe-core what keeps people out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.accessibility import violations
from tests.browser.visit import Site, Visit

INLINE = "const found = document.createElement('script'); found.textContent = '1'; document.body.append(found);"


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
        ("fetch('/nowhere')", "answer: http://losslake.example/nowhere: 404"),
        ("fetch('http://elsewhere.example/').catch(() => 0)", "policy: connect-src forbids http://elsewhere.example"),
        ("open('http://elsewhere.example/')", "another host: http://elsewhere.example/"),
        (INLINE, "policy: script-src-elem forbids inline"),
    ],
)
def test_what_goes_wrong_is_a_fault(window: Visit, does: str, kind: str) -> None:
    window.faults.clear()
    page = window.open("/")
    page.evaluate(f"() => {{ {does} }}")
    window.settle()
    assert any(fault.startswith(kind) for fault in window.faults), window.faults


def test_a_status_that_is_expected_is_no_fault(visit: Visit) -> None:
    visit.expected_statuses.add(404)
    page = visit.open("/nowhere")
    assert "nothing at /nowhere" in page.locator("main").inner_text()


def test_missing_words_and_dim_words_are_found_whatever_the_policy(visit: Visit) -> None:
    page = visit.open("/")
    assert violations(page) == []
    page.evaluate("""() => {
      const dim = document.createElement('p');
      dim.textContent = 'hardly seen';
      dim.style.color = '#888';
      dim.style.backgroundColor = '#999';
      document.querySelector('main').append(dim, document.createElement('img'));
    }""")
    assert {found.partition(":")[0] for found in violations(page)} == {"image-alt", "color-contrast"}
    assert [found.partition(":")[0] for found in violations(page, "colours")] == ["color-contrast"]
