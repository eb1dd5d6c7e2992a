"""The numbers are right, few, and documented."""

from __future__ import annotations

import itertools
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from losslake.lake.store.store import Traffic
from losslake_service.operation.metrics import FOLDER, Metrics
from tests.service.operation.conftest import Make, Operated

Sample = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(service: Operated) -> Sample:
    text = service.client.get("/metrics").text
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(found: Sample, name: str, **labels: str) -> float:
    return found.get((name, frozenset(labels.items())), 0.0)


def test_requests_are_counted_by_template_method_and_status(operated: Make) -> None:
    service = operated(compression=False)
    for name in ("a", "b", "a%2Fb"):
        service.client.get(f"/studies/{name}", headers={"If-None-Match": '"x"'})
    service.client.get("/broken")
    service.client.head("/constant")
    sent = len(service.client.get("/constant").content)
    found = samples(service)
    count = "losslake_requests_total"
    assert value(found, count, route="/studies/{name}", method="GET", status="200") == 2
    assert value(found, count, route="/broken", method="GET", status="500") == 1
    assert value(found, count, route="/constant", method="HEAD", status="200") == 1
    assert value(found, "losslake_request_seconds_count", route="/studies/{name}") == 2
    assert value(found, "losslake_request_seconds_sum", route="/studies/{name}") > 0
    assert value(found, "losslake_sent_bytes_total", route="/constant") == sent
    assert value(found, "losslake_requests_in_flight") == 1


@pytest.mark.slow
def test_unknown_paths_and_methods_add_no_series(operated: Make) -> None:
    service = operated()
    for number in range(50):
        service.client.get(f"/nothing/{number}")
        service.client.request(f"METHOD{number}", "/constant")
    found = samples(service)
    counts = {labels for name, labels in found if name == "losslake_requests_total"}
    assert len(counts) == 2
    assert value(found, "losslake_requests_total", route="unmatched", method="GET", status="404") == 50


def test_empty_metrics_file_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    (tmp_path / "counter_1.db").touch()
    assert Metrics().text() == b""


def test_gauges_are_reported(operated: Make) -> None:
    service = operated()
    service.metrics.answer_cache.labels("hit").inc()
    service.metrics.sql_statements.labels("cut").inc(2)
    with service.client:
        found = samples(service)
    assert value(found, "losslake_newest_release") == 1
    assert value(found, "losslake_releases_open") == 1
    assert value(found, "losslake_resident_bytes") > 1e7
    assert value(found, "losslake_workers") == 1
    assert value(found, "losslake_answer_cache_total", outcome="hit") == 1
    assert value(found, "losslake_sql_statements_total", outcome="cut") == 2
    assert [dict(labels)["version"] for name, labels in found if name == "losslake_build"]


class GrowingStore:
    """A store with more traffic at each look, whose reader is overtaken where nothing prevents it."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    @property
    def traffic(self) -> Traffic:
        number = next(self._numbers)
        time.sleep(0.0001)
        return Traffic(number, number, number)


def test_traffic_is_counted_once_by_refreshes_at_once() -> None:
    store, metrics = GrowingStore(), Metrics()
    releases: Any = SimpleNamespace(n_open=0, newest=None, lake=SimpleNamespace(store=store))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: metrics.refresh(releases), range(200)))
    assert metrics.registry.get_sample_value("losslake_store_fetched_bytes_total") == 200
    for outcome in ("hit", "miss"):
        assert metrics.registry.get_sample_value("losslake_store_cache_total", {"outcome": outcome}) == 200


def test_every_metric_is_documented_with_its_labels() -> None:
    text = (Path(__file__).parents[3] / "docs" / "operating.md").read_text()
    documented = {
        name: set(re.findall(r"`(\w+)`", labels))
        for name, labels in re.findall(r"^\| `(losslake_\w+)` \|([^|]*)\|", text, re.MULTILINE)
    }
    registry = Metrics().registry
    collectors = registry._collector_to_names  # there is no public way to a metric's labels before it has any
    found = {}
    for collector in collectors:
        (family,) = collector.collect()
        suffix = "_total" if family.type == "counter" else ""
        found[family.name + suffix] = set(collector._labelnames)  # type: ignore[attr-defined]
    assert documented == found
