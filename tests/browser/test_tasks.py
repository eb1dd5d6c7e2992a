"""What people come for takes at most four clicks from the first page: by mouse, by keyboard, and on a phone."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.visit import NARROW, WIDE, Site, Visit

pytestmark = pytest.mark.slow
MOST_CLICKS = 4
MOST_TABS = 400
_IS_FOCUSED = "element => element === document.activeElement"


@dataclass
class Reader:
    """Someone who clicks, or who presses Tab and Enter. clicks: so far; a choice in a list counts as one."""

    visit: Visit
    has_mouse: bool
    clicks: int = field(default=0)

    @property
    def page(self) -> Page:
        return self.visit.page

    def follow(self, target: Locator) -> None:
        """Open a link, or what a summary hides, or press a button."""
        target = target.first
        target.wait_for()
        self.clicks += 1
        if self.has_mouse:
            target.click()
        else:
            self._go_to(target)
            self.page.keyboard.press("Enter")
        self.visit.settle()

    def choose(self, target: Locator, value: str) -> None:
        """Choose an option of a list."""
        self.clicks += 1
        if not self.has_mouse:
            self._go_to(target)
        target.select_option(value)

    def give_file(self, target: Locator, text: str) -> None:
        """Choose a file."""
        self.clicks += 1
        if not self.has_mouse:
            self._go_to(target)
        target.set_input_files({"name": "mine.csv", "mimeType": "text/csv", "buffer": text.encode()})

    def type(self, target: Locator, text: str) -> None:
        """Type into a field, which a click selects."""
        self.clicks += 1
        if not self.has_mouse:
            self._go_to(target)
        target.press_sequentially(text)

    def search(self, words: str) -> None:
        """Type words, and take the first workload that is suggested."""
        self.clicks += 1
        if not self.has_mouse:
            self._go_to(self.page.locator("#search"))
        self.visit.type_words("#search", words)
        option = self.page.locator("#search-suggestions [role=option]").first
        option.wait_for()
        if self.has_mouse:
            option.click()
        else:
            self.page.keyboard.press("ArrowDown")
            self.page.keyboard.press("Enter")
        self.page.wait_for_url("**/workloads/**")
        self.visit.settle()

    def _go_to(self, target: Locator) -> None:
        for _ in range(MOST_TABS):
            if target.evaluate(_IS_FOCUSED):
                assert target.evaluate("element => getComputedStyle(element).outlineStyle") != "none"
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"no Tab leads to {target}")

    def says(self, *texts: str) -> None:
        for text in texts:
            expect(self.page.locator("main")).to_contain_text(text, use_inner_text=True)


def imagenet(reader: Reader) -> None:
    reader.follow(reader.page.locator(".gallery a", has_text="ResNet-50 on ImageNet"))
    reader.says("val/accuracy ≥ 0.759", "109,904", "1,579")


def steps_and_seconds_to_a_goal(reader: Reader) -> None:
    imagenet(reader)
    reader.follow(reader.page.locator(".measures a", has_text="seconds").first)
    reader.says("Seconds to val/accuracy ≥ 0.759")


def one_organisation(reader: Reader) -> None:
    imagenet(reader)
    reader.choose(reader.page.locator('select:has(option[value="org=NVIDIA"])'), "org=NVIDIA")
    reader.page.wait_for_url("**where=org%3DNVIDIA**")
    reader.says("of trials with org=NVIDIA")


def curves_of_two_organisations(reader: Reader) -> None:
    one_organisation(reader)
    reader.choose(reader.page.locator('select:has(option[value="org=Google"])').last, "org=Google")
    reader.page.wait_for_url("**where=org%3DGoogle**")
    reader.says("of trials with org=NVIDIA or Google")
    reader.follow(reader.page.locator("#all-curves a"))
    reader.says("those with org=NVIDIA or Google")
    expect(reader.page.locator("select[name=colour]")).to_have_value("org")


def momentum_against_sgd(reader: Reader) -> None:
    reader.search("digits mlp_64 momentum")
    reader.follow(reader.page.locator(".rivals a", has_text=re.compile("^SGD$")))
    reader.says("Compare momentum and SGD", "Relative to the baseline")


def best_trial_and_its_metaparameters(reader: Reader) -> None:
    reader.follow(reader.page.locator(".cards a", has_text="with what learning rate"))
    reader.follow(reader.page.locator("main a", has_text=re.compile(r"^trial \d+$")))
    reader.says("learning_rate")


def two_workloads_on_one_chart(reader: Reader) -> None:
    imagenet(reader)
    reader.follow(reader.page.locator(".rivals a", has_text=re.compile("^SGD$")))
    reader.says("Training curves of the best trials")


def curves_by_learning_rate(reader: Reader) -> None:
    reader.search("digits mlp_64 nesterov")
    reader.follow(reader.page.locator("main a", has_text="Open all curves in the curve viewer"))
    reader.page.locator(".viewer[data-drawn]").wait_for()
    reader.choose(reader.page.get_by_label("Colour by"), "learning_rate")
    reader.page.locator(".viewer .legend", has_text="learning_rate").wait_for()


def an_own_run_with_its_sentence(reader: Reader) -> None:
    reader.follow(reader.page.locator(".cards a", has_text="with what learning rate"))
    reader.follow(reader.page.locator("#own > summary"))
    text = "step,accuracy\n0,0.001\n2000,0.5\n4000,0.761\n"
    reader.give_file(reader.page.locator("#own input[type=file]"), text)
    reader.page.locator("#own [role=status]", has_text="the nearest is trial").wait_for()


def a_batch_size_for_a_price(reader: Reader) -> None:
    reader.search("cosmoflow")
    reader.follow(reader.page.locator("summary", has_text="Which batch size should I use?"))
    reader.type(reader.page.get_by_label("Price of an accelerator hour"), "2.5")
    reader.follow(reader.page.locator("form[action$='#advice'] button"))
    reader.says("at one price: batch size", "Chance, at least")


def critical_batch_sizes(reader: Reader) -> None:
    reader.follow(reader.page.locator(".cards a", has_text="How large are critical batch sizes"))
    reader.says("90% interval")


def best_values_by_examples(reader: Reader) -> None:
    reader.follow(reader.page.locator(".cards a", has_text="What is the best value that any trial reached"))
    reader.says("On the front")


TASKS = (
    steps_and_seconds_to_a_goal,
    one_organisation,
    curves_of_two_organisations,
    momentum_against_sgd,
    best_trial_and_its_metaparameters,
    two_workloads_on_one_chart,
    curves_by_learning_rate,
    an_own_run_with_its_sentence,
    a_batch_size_for_a_price,
    critical_batch_sizes,
    best_values_by_examples,
)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
@pytest.mark.parametrize(("width", "has_mouse"), [(WIDE, True), (NARROW, True), (WIDE, False)])
def test_task_takes_at_most_four_clicks(
    site: Site, task: Callable[[Reader], None], width: int, has_mouse: bool
) -> None:
    with site.visiting(width) as visit:
        visit.open("/")
        reader = Reader(visit, has_mouse)
        task(reader)
        print(f"{task.__name__}: {reader.clicks} clicks, {width} px, {'mouse' if has_mouse else 'keyboard'}")
        assert reader.clicks <= MOST_CLICKS
        assert visit.faults == []
