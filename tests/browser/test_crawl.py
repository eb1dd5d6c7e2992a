"""Pages of the published collections fit any window, fail nowhere, and claim no regimes of one or two batch sizes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake_schema.names import size_name
from tests.browser.accessibility import violations
from tests.browser.visit import Scheme, Site, Visit

pytestmark = pytest.mark.slow

WIDTHS = (380, 768, 1024, 1400, 1920)
TALLEST = 3000
"""Height of a workload's page in px, in a window of 1400 px."""
_OVERHANG = (Path(__file__).parent / "scripts" / "overhang.js").read_text()
_HEIGHT = "() => document.documentElement.scrollHeight"
_REGIMES = re.compile("regime|perfect scaling|critical batch size", re.IGNORECASE)


def crawled(lake: Lake) -> Iterator[tuple[str, WorkloadFacts | None]]:
    """Yield the paths of pages; of each collection the workloads with the most and the fewest batch sizes, or all."""
    view = ReleaseView.open(lake, lake.release(None))
    is_whole = bool(os.environ.get("CRAWL_ALL"))
    yield from ((path, None) for path in ("/", "/workloads", "/workloads?q=imagenet", "/releases", "/compare"))
    yield from ((path, None) for path in ("/batch-size", "/batch-size?dataset=imagenet", "/optimizers"))
    yield from ((path, None) for path in ("/docs/lesson", "/docs/papers"))
    yield from ((path, None) for path in ("/results", "/results?benchmark=bert&sort=time"))
    yield from ((f"/compare?dataset={name}", None) for name in ("imagenet", "librispeech"))
    for _, group in groupby(sorted(view.workloads), key=lambda workload: workload.collection.partition("/")[0]):
        ordered = sorted((view.workloads[each] for each in group), key=lambda facts: -len(facts.batch_sizes))
        chosen = ordered if is_whole else [ordered[0], *ordered[1:][-1:]]
        for facts in chosen:
            study = f"{facts.workload}/{size_name(facts.batch_sizes[0])}"
            yield f"/workloads/{facts.workload}", facts
            if facts.fixed_sizes:
                yield f"/workloads/{facts.workload}?step_times={facts.fixed_sizes[0]}=0.1&price=2", None
            yield f"/studies/{study}", None
            yield f"/trials/{study}/{facts.trials.trial_id[0]}", None
        alike = [each for each in ordered[1:] if set(each.measured) & set(ordered[0].measured)]
        if alike:
            yield f"/compare?workload={ordered[0].workload}&workload={alike[0].workload}", None


def faults_of(visit: Visit, path: str, width: int, facts: WorkloadFacts | None) -> list[str]:
    visit.faults.clear()
    page = visit.open(path)
    faults = [*visit.faults, *page.evaluate(_OVERHANG), *violations(page, "layout")]
    faults += [str(each.get_attribute("data-trouble")) for each in page.locator("[data-trouble]").all()]
    if facts is not None and len(facts.batch_sizes) < 3 and _REGIMES.search(page.locator("main").inner_text()):
        faults.append("it claims regimes of one or two batch sizes")
    height = page.evaluate(_HEIGHT)
    if facts is not None and width == 1400 and height > TALLEST:
        faults.append(f"it is {height} px high")
    return faults


def test_pages_of_published_collections_fit_any_window(published: Lake, site: Site) -> None:
    pages = list(crawled(published))
    assert len(pages) > 40
    faults = {}
    for turn, width in enumerate(WIDTHS):
        scheme: Scheme = "dark" if turn % 2 else "light"
        with site.visiting(width, scheme) as visit:
            # Each page in one window; with CRAWL_ALL each in every one.
            mine = pages if os.environ.get("CRAWL_ALL") else pages[turn :: len(WIDTHS)]
            for path, facts in mine:
                if found := faults_of(visit, path, width, facts):
                    faults[path, width] = found
    assert faults == {}
