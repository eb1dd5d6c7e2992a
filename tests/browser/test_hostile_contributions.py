"""Texts of contributors are never interpreted on any page of their service: no script runs, nothing is loaded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest
from playwright.sync_api import Browser
from starlette.routing import compile_path

from losslake.record.spool import new_name
from losslake_contributions.protocol.contributions import Finish, RunFacts
from losslake_contributions.protocol.submissions import ReturnRequest, SubmissionRequest
from losslake_service.web.paths import PAGES as KINDS
from tests.attacks.contributors import Target, attacked
from tests.browser.test_hostile import INJECTED
from tests.browser.visit import WIDE, Site, Visit
from tests.contributions.conftest import Sender

pytestmark = pytest.mark.slow
ORCID = "0000-0002-1825-0097"
METRIC = "val/\"'><img src=x onerror=alert('metric')>"
# What a document may say only in its own words.
CHECKED: dict[str, Any] = {
    "format": None,
    "sha256": "0" * 64,
    "orcid": ORCID,
    "role": "software",
    "comparator": None,
    "batch_size": 8,
    "started_at": 1_790_000_000.25,
    "ended_at": 1_790_000_100.0,
    "status": "COMPLETE",
    "metric": METRIC,
}


def injection(name: str) -> str:
    """Return a text that says for which field it was if a browser runs it; without a slash, as parts of paths."""
    return f"\"'><img src=x onerror=alert('{name}')><svg onload=alert('{name}')>"


def filled(schema: Mapping[str, Any], defs: Mapping[str, Any], name: str) -> Any:
    """Return a document of a JSON schema in which every text is an injection, also the names of what may have any."""
    if "$ref" in schema:
        return filled(defs[schema["$ref"].rpartition("/")[2]], defs, name)
    if "anyOf" in schema:
        return filled(schema["anyOf"][0], defs, name)
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    kind = schema.get("type", "string")
    if kind == "object" and "properties" in schema:
        return {
            each: CHECKED[each]
            if each in CHECKED and each not in ("format", "comparator")
            else filled(more, defs, each)
            for each, more in schema["properties"].items()
            if each != "comparator"
        }
    if kind == "object":
        more = schema.get("additionalProperties", {})
        return {injection(f"key of {name}"): filled(more, defs, name) if isinstance(more, dict) else injection(name)}
    if kind == "array":
        return [filled(schema["items"], defs, name)]
    return injection(name) if kind == "string" else {"number": 0.5, "boolean": True}.get(kind, 1)


def document_of(model: Any, **known: Any) -> dict[str, Any]:
    """Return a document of a model with every field that it has, of which some are known."""
    schema = model.model_json_schema()
    schema["properties"] = {name: field for name, field in schema["properties"].items() if name not in known}
    return {**filled(schema, schema.get("$defs", {}), model.__name__), **known}


def send_run(sender: Sender, *, licence: str, scale: float, **end: Any) -> tuple[dict[str, Any], str, Any]:
    """Send a finished run; return its facts, its id, and the answer that created it."""
    files = {injection("file"): "0" * 64}
    origin = {"format": injection("origin"), "files": files}
    of_batches = {"batch_size": None, "batch_schedule": [[0, 8], [10, 16]]}
    facts = document_of(RunFacts, origin=origin, licence=licence, directions={METRIC: "minimize"}, **of_batches)
    run = new_name()
    created = sender.send("PUT", f"/v1/contributions/{run}", json=facts)
    assert created.status_code == 201, created.text
    values = [(step, scale / (step + 1)) for step in range(0, 120, 10)]
    lines = [{"step": step, "elapsed_s": step, METRIC: value, "val/loss": value} for step, value in values]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    digest = hashlib.sha256(data).hexdigest()
    place = {"attempt": 1, "n": 1, "from_step": None, "bytes": len(data), "sha256": digest}
    where = f"/v1/contributions/{run}/segments/1/1"
    assert sender.send("PUT", where, params={"sha256": digest}, content=data).status_code == 201
    finished = sender.send("POST", f"/v1/contributions/{run}/finish", json=document_of(Finish, segments=[place], **end))
    assert finished.status_code == 200, finished.text
    return facts, run, created


def submit(target: Target, sender: Sender, run: str, licence: str) -> str:
    """Submit a run, wait for its review, and return the id of the submission."""
    claim = {"contribution": run, "metric": METRIC, "target": 0.5, "steps": 3}
    request = document_of(SubmissionRequest, contributions=[run], claims=[claim], licence=licence)
    submitted = sender.send("POST", "/v1/submissions", json=request)
    assert submitted.status_code == 201, submitted.text
    name = str(submitted.json()["id"])
    target.wait_for_review(name)
    return name


GAP = {"reason": injection("gap"), "n": 1, "first_step": 1, "last_step": 2}


@dataclass(frozen=True)
class Sent:
    """A service with hostile submissions, of which the first can be stored.

    live: the path of the page of its run. draft: the link to its draft.
    """

    target: Target
    site: Site
    run: str
    submissions: list[str]
    live: str
    draft: str
    workload: str


@pytest.fixture(scope="module")
def sent(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sent]:
    with ExitStack() as stack:
        target = stack.enter_context(attacked(tmp_path_factory.mktemp("attacked")))
        sender = target.someone(injection("contributor"))
        whole = {"gaps": [], "n_dropped": 0, "assumed_rewinds": 0, "other_counters": []}
        facts, run, created = send_run(sender, licence="CC-BY-4.0", scale=1.0, **whole)
        other = send_run(sender, licence=injection("licence"), gaps=[GAP], n_dropped=1, scale=2.0)[1]
        # The second one can't be stored: its review says so in the words of its fields.
        names = [submit(target, sender, run, "CC-BY-4.0"), submit(target, sender, other, injection("licence"))]
        name = names[0]
        links = sender.send("GET", f"/v1/submissions/{name}").json()["links"]
        site = Site(browser, target.service.url, target.service.url)
        workload = "/".join(facts[part] for part in ("collection", "dataset", "model", "optimizer"))
        live = urlsplit(created.json()["links"]["live"]).path
        yield Sent(target, site, run, names, live, urlsplit(links["draft"]).path, workload)


def look_at(visit: Visit, path: str) -> None:
    visit.faults.clear()
    visit.expected_statuses = {400, 401, 403, 404, 409, 422}
    page = visit.open(path, "body")
    assert page.locator(INJECTED).evaluate_all("(found) => found.map((each) => each.outerHTML)") == [], path
    assert visit.faults == [], path


def sign_in(visit: Visit, token: str) -> None:
    page = visit.open("/sign-in")
    page.locator("[name=token]").fill(token)
    page.locator("main form button").first.click()
    page.locator("form[action='/sign-out']").wait_for()


def test_no_text_is_interpreted_before_reviewers(sent: Sent) -> None:
    with sent.site.visiting(WIDE) as visit:
        sign_in(visit, sent.target.reviewer.token)
        queries = ("", f"?{urlencode({name: injection(name) for name in ('state', 'after', 'next', 'of-nobody')})}")
        for query in queries:
            for path in (
                "/reviews",
                *(f"/reviews/{name}" for name in sent.submissions),
                *(f"/reviews/{name}/review.json" for name in sent.submissions),
                f"/reviews/{sent.submissions[0]}/runs/{sent.run}",
                f"/reviews/{quote(injection('name'))}",
                f"/{quote(injection('path'))}",
                "/sign-in",
            ):
                look_at(visit, f"{path}{query}#{quote(injection('hash'))}")
        page = visit.open(f"/reviews/{sent.submissions[0]}")
        assert injection("note") in page.locator("main").inner_text()


def test_no_text_is_interpreted_on_the_live_page(sent: Sent) -> None:
    with sent.site.visiting(WIDE) as visit:
        for query in ({}, {"metric": METRIC}, {"metric": injection("query"), "target": injection("target")}):
            look_at(visit, f"{sent.live}?{urlencode(query)}")
        for name in ("curves", "scaling"):
            look_at(visit, f"{sent.live}/figures/{name}.vl.json?{urlencode({'metric': METRIC})}")


def test_no_text_is_interpreted_in_the_draft(sent: Sent) -> None:
    workload = quote(sent.workload)
    names = {
        "/workloads/{name:path}": workload,
        "/studies/{name:path}": f"{workload}/8",
        "/trials/{name:path}": f"{workload}/8/1",
        "/docs/{name}": "rest",
        "/docs/reference/{name:path}": "v1/trials",
    }
    query = urlencode({"metric": METRIC, "target": "0.5", "study": f"{sent.workload}/8"})
    with sent.site.visiting(WIDE) as visit:
        look_at(visit, sent.draft)
        for kind in KINDS:
            if not kind.is_fragment:
                place = compile_path(kind.path)[1].format(name=names.get(kind.path, "1"))
                look_at(visit, f"{place}?{query}")
        look_at(visit, f"/studies/{workload}/8")
        assert injection("model") in visit.page.locator("main").inner_text()


def test_no_reason_is_interpreted_before_its_contributor(sent: Sent) -> None:
    """Last, as it ends the draft."""
    reason = document_of(ReturnRequest)
    answer = sent.target.reviewer.send("POST", f"/v1/submissions/{sent.submissions[0]}/return", json=reason)
    assert answer.status_code == 200, answer.text
    owner = sent.target.someone(injection("contributor"))
    with sent.site.visiting(WIDE) as visit:
        sign_in(visit, owner.token)
        for path in ("/reviews", "/reviews?state=returned", f"/reviews/{sent.submissions[0]}", "/"):
            look_at(visit, path)
