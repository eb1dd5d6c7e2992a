"""Quotas of runs, segments and bytes: in all, which a restart doesn't forget, and in an hour."""

from __future__ import annotations

import json

from losslake.lake.lake import Lake
from losslake_contributions.intake.runs import parse_facts
from losslake_contributions.people.tokens import Quota, list_tokens
from tests.contributions.conftest import ADA, Sender, serving
from tests.contributions.spooled_runs import SpooledRun, rows


def test_a_token_sends_no_more_than_its_quota_even_after_a_restart(empty_lake: Lake) -> None:
    run = SpooledRun(segments={f"0001/{n:06d}.jsonl": rows(range(n)) for n in (1, 2, 3)})
    first, second, third = run.segments
    document = len(parse_facts(json.dumps(run.facts).encode()).encode())
    room = len(run.data(first)) + len(run.data(second))
    with serving(empty_lake) as service:
        ada = service.sender("Ada", ADA, quota=Quota(runs=1, segments=5, bytes=room))
        assert ada.create(run).status_code == 201
        assert [ada.put(run, path).status_code for path in (first, second, first)] == [201, 201, 200]
    with serving(empty_lake) as service:
        again = Sender(service.client, ada.token)
        refused = [again.put(run, third), again.create(SpooledRun())]
        assert [each.status_code for each in refused] == [403, 403]
        assert "1 of 1 runs" in refused[1].json()["detail"]
        assert (again.create(run).status_code, again.put(run, first).status_code) == (200, 200)
        (facts,) = list_tokens(service.database)
        assert (facts.runs, facts.segments, facts.bytes, facts.document_bytes) == (1, 2, room, document)
        names = [file.path for file in empty_lake.store.list_files("contributions")]
        assert len(names) == 2, "what is refused leaves no file"


def test_segments_are_limited(empty_lake: Lake) -> None:
    run = SpooledRun(segments={f"0001/{n:06d}.jsonl": rows(range(n)) for n in (1, 2)})
    with serving(empty_lake) as service:
        ada = service.sender("Ada", ADA, quota=Quota(segments=1))
        ada.create(run)
        assert [ada.put(run, path).status_code for path in run.segments] == [201, 403]


def test_hourly_quotas_say_when_to_try_again(empty_lake: Lake) -> None:
    with serving(empty_lake, runs_per_hour=1, segments_per_hour=2, megabytes_per_hour=1) as service:
        ada = service.sender("Ada", ADA)
        run, other = SpooledRun(), SpooledRun()
        assert [ada.create(each).status_code for each in (run, run, other)] == [201, 200, 429]
        assert 1 <= int(ada.create(other).headers["retry-after"]) <= 3600
        assert [ada.put(run).status_code for _ in range(3)] == [201, 200, 429]
        assert service.sender("Ada", ADA).create(other).status_code == 201, "each token has its own"


def test_bytes_in_an_hour_are_limited(empty_lake: Lake) -> None:
    run = SpooledRun(segments={"0001/000001.jsonl": rows(range(20_000))})
    with serving(empty_lake, megabytes_per_hour=1) as service:
        ada = service.sender("Ada", ADA)
        ada.create(run)
        assert ada.put(run).status_code == 429
        assert service.client.get("/metrics").text.count('outcome="too-fast"') >= 1


def test_documents_have_a_quota_of_their_own(empty_lake: Lake) -> None:
    run, gap = SpooledRun(), {"reason": "x" * 9_000, "n": 1}
    with serving(empty_lake) as service:
        ada = service.sender("Ada", ADA, quota=Quota(document_bytes=20_000))
        assert ada.create(SpooledRun(parameters={str(n): "x" * 9_000 for n in range(3)})).status_code == 403
        ada.create(run)
        ada.put(run)
        end = f"/v1/contributions/{run.id}/finish"
        assert ada.send("POST", end, json={**run.end, "gaps": [gap] * 3}).status_code == 403
        assert ada.send("POST", end, json=run.end).status_code == 200
        assert ada.submit(run, note="x" * 9_000).status_code == 201
        (token,) = list_tokens(service.database)
        assert 9_000 < token.document_bytes <= 20_000
        assert token.bytes == len(run.data("0001/000001.jsonl"))
        assert ada.submit(run, note="x" * 9_000).status_code == 200
        (later,) = list_tokens(service.database)
        used = (token.runs, token.segments, token.bytes, token.document_bytes)
        assert (later.runs, later.segments, later.bytes, later.document_bytes) == used, "the same again costs nothing"


def test_submissions_in_an_hour_are_limited(empty_lake: Lake) -> None:
    run = SpooledRun()
    with serving(empty_lake, submissions_per_hour=2) as service:
        ada = service.sender("Ada", ADA)
        ada.contribute(run)
        assert [ada.submit(run, note=note).status_code for note in "aab"] == [201, 200, 429]
