"""Runs that name a collection of others: the reviewer is told, and nothing that is stored of it changes."""

from __future__ import annotations

from typing import Any

import pytest

from losslake.lake.data_files import read_small_table
from losslake.lake.lake import Lake
from losslake_contributions.review.acceptance import accept
from losslake_contributions.review.checks.rules import Finding
from losslake_contributions.review.review import Reviews
from tests.contributions.conftest import ADA, BOB, Sender, Service
from tests.contributions.spooled_runs import COLLECTION, Rows, SpooledRun, rows

METRIC = "val/points"  # not registered
LICENCE = "CC0-1.0"
GOAL = {"metric": "val/loss", "target": 0.25, "comparator": "strict", "source": "Ada"}
SEGMENTS: dict[str, Rows] = {"0001/000001.jsonl": [{**row, METRIC: row["step"] / 7} for row in rows(range(12))]}
CHANGED: list[dict[str, Rows]] = [
    {"0001/000001.jsonl": [{**row, METRIC: row["step"] / n} for row in rows(range(12), n)]} for n in (3, 5)
]


def findings(service: Service, name: str) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for each in Reviews(service.database).review(name).report.findings:
        found.setdefault(each.rule, []).append(each)
    return found


def small(lake: Lake, table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read_small_table(lake.store, lake.files(lake.release()), table).to_pylist()
    return rows


def store(service: Service) -> None:
    """Store Ada's collection, with a goal."""
    run = SpooledRun(segments=SEGMENTS, licence=LICENCE, more={"goals": [GOAL]})
    accept(service.database, service.sender("Ada", ADA).submitted(run, licence=LICENCE), "me")


@pytest.fixture(scope="module")
def stored(shared_service: Service) -> Service:
    """A service that has stored it, for tests that accept nothing."""
    store(shared_service)
    return shared_service


def test_one_s_own_collection_is_none(stored: Service) -> None:
    run = SpooledRun(segments=CHANGED[0], licence=LICENCE, more={"goals": [GOAL]})
    found = findings(stored, stored.sender("Ada", ADA).submitted(run, licence=LICENCE, note="more"))
    assert not found.keys() & {"others_collection", "collection_facts"}


def test_naming_its_owner_as_contributor_does_not_make_it_one_s_own(stored: Service) -> None:
    named = [{"name": "Ada", "orcid": None, "role": None}]
    run = SpooledRun(segments=CHANGED[0], licence=LICENCE)
    of_new = SpooledRun(licence=LICENCE, more={"collection": "another"})
    found = findings(stored, stored.sender("Bob", BOB).submitted(run, of_new, licence=LICENCE, contributors=named))
    assert [finding.where for finding in found["others_collection"]] == [COLLECTION]
    assert "collection_facts" not in found


def test_a_stranger_s_run_is_a_warning_and_changes_nothing_that_is_stored(
    service: Service, bob: Sender, reviewer: Sender
) -> None:
    store(service)
    lake = service.lake
    before = {table: small(lake, table) for table in ("collections", "goals", "metrics", "contributors")}
    goals = [
        {**GOAL, "comparator": "inclusive", "source": "Bob"},
        {"metric": "val/loss", "target": 0.5, "comparator": "strict", "source": "Bob"},
    ]
    more = {"goals": goals, "directions": {METRIC: "maximize"}}
    runs = [SpooledRun(segments=each, more=more) for each in CHANGED]
    name = bob.submitted(*runs)
    found = findings(service, name)
    (finding,) = found["others_collection"]
    assert (finding.severity, finding.run, finding.where) == ("warning", "", COLLECTION)
    assert (
        "2 runs would be added to it, and 1 of its 1 stored trials weren't sent by this contributor" in finding.message
    )
    assert "are by Ada" in finding.message
    messages = {finding.where: finding.message for finding in found["collection_facts"]}
    assert "the runs say CC-BY-4.0, and the collection has 'CC0-1.0', which stays" in messages[f"{COLLECTION}, licence"]
    workload = f"{COLLECTION}/mnist/cnn/sgd"
    assert "its stored comparator strict and source 'Ada' stay" in messages[f"{workload}, val/loss 0.25"]
    assert "it would be a new goal of the workload" in messages[f"{workload}, val/loss 0.5"]
    assert "the runs say maximize, and the lake nothing, which stays" in messages[f"{COLLECTION}, {METRIC}"]

    response = reviewer.send("POST", f"/v1/submissions/{name}/accept")
    assert (response.status_code, response.json()["state"]) == (200, "accepted"), response.text
    assert lake.release().n_trials == 3
    assert small(lake, "collections") == before["collections"]
    assert small(lake, "metrics") == before["metrics"]
    added = [row for row in small(lake, "goals") if row not in before["goals"]]
    assert [(row["metric"], row["target"], row["source"]) for row in added] == [("val/loss", 0.5, "Bob")]
    assert all(row in small(lake, "goals") for row in before["goals"])
    assert all(row in small(lake, "contributors") for row in before["contributors"])


def test_a_new_collection_has_the_licence_of_its_runs(stored: Service) -> None:
    (row,) = [row for row in small(stored.lake, "collections") if row["collection"] == COLLECTION]
    assert row["licence"] == LICENCE
