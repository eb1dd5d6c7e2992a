"""Hostile content in runs that are sent for review and stored in the lake; docs/threat-model.md lists the attacks."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from typing import Any

import pytest
from typer.testing import CliRunner

from losslake.lake.data_files import read_small_table
from losslake.lake.lake import Lake
from losslake.record.spool import new_name
from losslake_cli.main import app
from losslake_ingest.readers.recorded.folder import read_spool
from losslake_ingest.run import ingest
from losslake_schema.names import Trial
from tests.attacks.contributors import STORED, Target, fresh_run, refused
from tests.contributions.conftest import Sender
from tests.contributions.made_runs import write_run
from tests.contributions.spooled_runs import COLLECTION, SpooledRun

pytestmark = [pytest.mark.slow, pytest.mark.attack]
SCRIPT = "<script>alert(1)</script>"
QUOTED = "\"><img src=x onerror=alert(1)>'"
TEMPLATES = (
    "{{7*191}}",
    "{% for x in () %}",
    "${7*191}",
    "%(name)s %s %n",
    "{0.__class__.__mro__}",
    "$(id) `id`",
    "!!python/object:os.system",
)
CURVE = "0001/000001.jsonl"


def send(sender: Sender, segment: bytes | None = None, **facts: Any) -> tuple[str, Any]:
    """Create a run with other facts, fill and finish it; return its id, and the answer that creates it."""
    run = fresh_run()
    created = sender.send("PUT", f"/v1/contributions/{run.id}", json={**run.facts, **facts})
    if created.status_code != 201:
        return run.id, created
    data = run.data(CURVE) if segment is None else segment
    place = {"attempt": 1, "n": 1, "from_step": None, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    where = f"/v1/contributions/{run.id}/segments/1/1"
    assert sender.send("PUT", where, params={"sha256": place["sha256"]}, content=data).status_code == 201
    finished = sender.send("POST", f"/v1/contributions/{run.id}/finish", json={**run.end, "segments": [place]})
    assert finished.status_code == 200
    return run.id, created


def submit(sender: Sender, *runs: str, **facts: Any) -> Any:
    return sender.send("POST", "/v1/submissions", json={"contributions": runs, "licence": "CC-BY-4.0", **facts})


def reviewed(target: Target, *runs: str, **facts: Any) -> tuple[str, dict[str, Any]]:
    """Submit runs; return the id of the submission, and its review."""
    answer = submit(target.mallory, *runs, **facts)
    assert answer.status_code == 201, answer.text
    name = str(answer.json()["id"])
    return name, target.wait_for_review(name)


def is_decided(target: Target, name: str) -> None:
    """A reviewer reads the submission on its page, and gets rid of it there."""
    page = target.page(f"/reviews/{name}", target.reviewer)
    assert page.status_code == 200
    assert "Decide" in page.text
    assert target.press(f"/reviews/{name}/return", target.reviewer, reason="no").status_code == 303
    assert target.state(name) == "returned"


def test_names_of_paths(target: Target) -> None:
    """have files written elsewhere by names of paths in run.json"""
    before, names = (
        target.files(),
        [
            "..",
            ".",
            "../../x",
            "/etc/cron.d/x",
            "..\\..\\x",
            "C:\\x",
            "a\x00b",
            "~/.ssh",
            "CON",
            "%2e%2e%2f",
            "a" * 201,
        ],
    )
    runs = []
    for name in names:
        for field in ("collection", "dataset", "model", "optimizer"):
            run, created = send(target.mallory, None, **{field: name})
            if created.status_code == 201:
                runs.append(run)
            else:
                refused(created, 422)
    name, review = reviewed(target, *runs)
    assert set(target.files()) == set(before)
    inside = {path.relative_to(target.lake.folder).parts[0] for path in target.lake.folder.rglob("*")}
    assert not inside & {"x", "etc", "CON", ".ssh"}
    assert not [path for path in target.lake.folder.parent.iterdir() if path.name in ("x", "etc")]
    assert review["submission"] == name
    is_decided(target, name)


def test_html_in_every_field(target: Target) -> None:
    """run scripts in the browsers of reviewers, by HTML in every field that has a text"""
    text = QUOTED + SCRIPT
    name_of = {field: f"{QUOTED}{field}".replace("/", "") for field in ("collection", "dataset", "model", "optimizer")}
    lines = b"".join(
        json.dumps({"step": step, "elapsed_s": step, f"val/{QUOTED}": value, "val/loss": value}).encode() + b"\n"
        for step, value in STORED
    )
    run, created = send(
        target.mallory,
        lines,
        **name_of,
        licence="CC-BY-4.0",
        batch_unit=text,
        notes=text,
        parameters={text: text, "learning_rate": 0.1},
        attributes={text: {text: [text]}},
        goals=[{"metric": f"val/{QUOTED}", "target": 0.5, "source": text}, {"metric": "val/loss", "target": 0.5}],
        origin={"format": text, "files": {text: "0" * 64}},
    )
    assert created.status_code == 201, created.text
    other, _ = send(target.mallory, None, **name_of, parameters={text: f"{text}2"})
    hostile = target.someone(f"Eve {QUOTED}")
    assert target.page("/reviews", hostile).text.count("<img src=x") == 0
    name, _ = reviewed(
        target,
        run,
        other,
        note=text,
        contributors=[{"name": text}],
        claims=[{"contribution": run, "metric": text, "target": 0.5, "steps": 3}],
    )
    draft = target.draft(name)
    study = "/".join((*name_of.values(), "64"))
    cookie = {"cookie": f"losslake_draft={draft}"}
    pages = [
        target.page(path, target.reviewer)
        for path in (
            f"/reviews/{name}",
            "/reviews",
            f"/reviews/{name}/runs/{run}",
            f"/reviews/{name}?x={SCRIPT}",
            f"/{SCRIPT}",
        )
    ]
    explorer = (
        "/",
        "/workloads",
        f"/studies/{study}",
        f"/trials/{study}/0",
        "/releases",
        "/sql",
        f"/workloads?q={SCRIPT}",
    )
    pages += [target.client.get(path, headers={"accept": "text/html", **cookie}) for path in explorer]
    pages.append(target.press(f"/reviews/{name}/return", target.reviewer, reason=text))
    pages.append(target.page(f"/reviews/{name}", target.mallory))
    for page in pages:
        assert page.status_code in (200, 303, 404), page.text
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text
        if page.status_code == 303:
            continue
        assert "script-src" in page.headers["content-security-policy"]
        assert (
            "unsafe-inline" not in page.headers["content-security-policy"].partition("script-src")[2].partition(";")[0]
        )
    assert "&lt;script&gt;" in pages[0].text


def test_templates_and_formats(target: Target) -> None:
    """have texts evaluated as templates, formats, YAML or shell commands"""
    parameters = {f"p{number}": text for number, text in enumerate(TEMPLATES)}
    run, created = send(target.mallory, parameters=parameters, notes="\n".join(TEMPLATES), collection="{{7*191}}")
    assert created.status_code == 201
    other, _ = send(target.mallory, parameters={name: f"{text}." for name, text in parameters.items()})
    name, _ = reviewed(target, run, other, note="\n".join(TEMPLATES))
    for path in (f"/reviews/{name}", f"/reviews/{name}/runs/{run}"):
        page = target.page(path, target.reviewer).text
        assert "1337" not in page
        assert "{{7*191}}" in page
    assert target.press(f"/reviews/{name}/return", target.reviewer, reason="{{7*191}} %s").status_code == 303
    assert "{{7*191}} %s" in target.page(f"/reviews/{name}", target.mallory).text


def test_invisible_characters(target: Target) -> None:
    """deceive readers by text that runs backwards, can't be seen, or moves the terminal"""
    odd = [
        "a\u202eb",
        "a\u2066b",
        "a\u200bb",
        "\ufeffa",
        "a\u00adb",
        "a\u2060b",
        "a\U000e0041b",
        "a\x1b[2Jb",
        "a\x85b",
        "a\u2028b",
        "a\rb",
        "\ue000",
    ]
    for text in odd:
        for facts in (
            {"collection": text},
            {"optimizer": text},
            {"batch_unit": text},
            {"notes": text},
            {"parameters": {text: 1}},
            {"parameters": {"a": text}},
            {"goals": [{"metric": text, "target": 1}]},
            {"licence": text},
        ):
            refused(send(target.mallory, **facts)[1], 422)
        for submission in ({"note": text}, {"licence": text}, {"contributors": [{"name": text}]}):
            refused(submit(target.mallory, new_name(), **submission), 422)


def test_names_that_look_alike(target: Target) -> None:
    """make a collection that looks like a stored one: composed otherwise, with fillers, or in another script"""
    for text in (
        "giv\u0065\u0301n",
        "given\u3164",
        "given\u115f",
        "given\u034f",
        "given\ufe0f",
        "\uff47iven",
        "given\U000e0100",
    ):
        answer = send(target.mallory, collection=text)[1]
        assert "collection" in refused(answer, 422), text
        refused(send(target.mallory, model=text)[1], 422)
    run, _ = send(target.mallory, collection="g\u0456ven")  # Cyrillic
    name, review = reviewed(target, run)
    (found,) = [each for each in review["report"]["findings"] if each["rule"] == "mixed_scripts"]
    assert "CYRILLIC" in found["message"]
    is_decided(target, name)


def test_hostile_json(target: Target) -> None:
    """break the reading of run.json by numbers, depth, encodings and keys given twice"""
    good = json.dumps(SpooledRun().facts)
    bodies = {
        "an int of 10,000 digits": good.replace("64", "9" * 10_000),
        "2^63": good.replace("64", str(2**63)),
        "a float beyond all": good.replace("0.1", "1e999"),
        "NaN": good.replace("0.1", "NaN"),
        "an attribute of 10,000 digits": good[:-1] + ', "attributes": {"a": ' + "9" * 10_000 + "}}",
        "NaN in an attribute": good[:-1] + ', "attributes": {"a": [NaN, Infinity]}}',
        "1e999 in an attribute": good[:-1] + ', "attributes": {"a": 1e999}}',
        "deep arrays": good[:-1] + ', "attributes": {"a": ' + "[" * 50_000 + "]" * 50_000 + "}}",
        "150 arrays": good[:-1] + ', "attributes": {"a": ' + "[" * 150 + "]" * 150 + "}}",
        "lone surrogates": good.replace("sgd", "\\ud800"),
        "lone surrogates in an attribute": good[:-1] + ', "attributes": {"a": "\\udfff"}}',
        "UTF-16": good.encode("utf-16"),
        "no UTF-8": good.encode().replace(b"sgd", b"\xff\xfe"),
        "a mark of byte order": "\ufeff" + good,
        "no object": "[" + good + "]",
        "nothing": "",
        "two documents": good + good,
        "another format": good.replace("record/1", "record/2"),
        "unknown fields": good[:-1] + ', "__class__": "x", "model_config": {}}',
        "true for a number": good.replace("64", "true"),
        "a text for a number": good.replace("64", '"64"'),
    }
    for what, body in bodies.items():
        answer = target.mallory.send("PUT", f"/v1/contributions/{new_name()}", content=body)
        assert answer.status_code == 422, (what, answer.text[:300])
        refused(answer, 422)
    twice = '{"collection": "other", ' + good[1:]
    name = new_name()
    assert target.mallory.send("PUT", f"/v1/contributions/{name}", content=twice).status_code == 201
    assert target.mallory.send("PUT", f"/v1/contributions/{name}", content=good).status_code == 200, (
        "the last one counts"
    )
    run, created = send(
        target.mallory,
        parameters={f"p{n}": value for n, value in enumerate([2**63 - 1, -(2**63), 1e308, 5e-324, True])},
        attributes={"a": "x\x00\x1b[2J\u202e", "\u00e9": [{"b": [1, None, 0.5]}]},
    )
    assert created.status_code == 201
    is_decided(target, reviewed(target, run)[0])


SEGMENTS = {
    "nothing": b"",
    "no JSON": b"\x00\xff\xfe{{{\n" * 100,
    "a zip": b"PK\x03\x04" + bytes(1000),
    "arrays": b'[1,2]\n[{"step":1}]\n',
    "deep": b'{"step":1,"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    "a step of 2^63": b'{"step":9223372036854775808,"elapsed_s":0,"val/loss":1}\n',
    "a step of 400 digits": b'{"step":' + b"9" * 400 + b',"elapsed_s":0,"val/loss":1}\n',
    "a step of 1e400": b'{"step":1e400,"elapsed_s":0,"val/loss":1}\n',
    "a step that is NaN": b'{"step":NaN,"elapsed_s":0,"val/loss":1}\n{"step":"NaN","val/loss":1}\n',
    "odd steps": b'{"step":-1,"val/loss":1}\n{"step":0.5,"val/loss":1}\n{"step":true,"val/loss":1}\n',
    "no steps": b'{"val/loss":1}\n' * 10,
    "objects as values": b'{"step":1,"val/loss":{"a":1}}\n{"step":2,"val/loss":[1]}\n{"step":3,"val/loss":"x"}\n',
    "hostile times": b'{"step":1,"elapsed_s":"Infinity","val/loss":1}\n{"step":2,"elapsed_s":-1e308,"val/loss":1}\n',
    "hostile values": b'{"step":1,"elapsed_s":0,"val/loss":1e308}\n{"step":2,"elapsed_s":1,"val/loss":-1e308}\n' * 3,
    "5,000 metrics": b'{"step":1,"elapsed_s":0,' + b",".join(b'"m%d":1' % n for n in range(5000)) + b"}\n",
    "a long name": b'{"step":1,"elapsed_s":0,"' + b"a" * 100_000 + b'":1}\n',
    "names of nothing": b'{"step":1,"elapsed_s":0,"":1," ":2,"/":3,"val/":4,"..":5}\n',
    "keys twice": b'{"step":1,"step":2,"elapsed_s":0,"val/loss":1,"val/loss":2}\n',
    "a surrogate": b'{"step":1,"elapsed_s":0,"val/\\ud800":1}\n',
    "steps far apart": b'{"step":0,"elapsed_s":0,"val/loss":1}\n{"step":9007199254740992,"val/loss":0.5}\n',
}


def test_hostile_segments(target: Target) -> None:
    """break the review or the release by lines that aren't measurements"""
    runs: dict[str, str] = {}
    for what, data in SEGMENTS.items():
        runs[what], _ = send(target.mallory, data, batch_size=7 + len(runs))
    for what, run in runs.items():
        answer = submit(target.mallory, run)
        assert answer.status_code == 201
        name = answer.json()["id"]
        review = target.reviewer.review(name)
        assert review.status_code == 200, (what, review.text)
        is_decided(target, name)
    name, _ = reviewed(target, *runs.values(), note="all together")
    refused(target.reviewer.send("POST", f"/v1/submissions/{name}/accept", timeout=120), 409)
    assert target.lake.newest_release().number == 1  # type: ignore[union-attr]
    is_decided(target, name)


def test_terminals_of_reviewers(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """move the terminal of whoever reviews on the command line, by names of metrics"""
    hostile = "val/\x1b[2J\x1b]0;x\x07\u202eloss"
    lines = b"".join(
        json.dumps({"step": s, "elapsed_s": s, hostile: v, "val/loss": v + 0.01}).encode() + b"\n" for s, v in STORED
    )
    run, _ = send(target.mallory, lines, optimizer="terminal")
    name, review = reviewed(target, run, note="two\nlines")
    assert "\x1b" not in json.dumps(review, ensure_ascii=False)
    for command in (["list"], ["show", name], ["accept", name]):
        done = CliRunner().invoke(app, ["review", *command, "--lake", str(target.lake.folder)])
        assert not [c for c in done.output if c != "\n" and unicodedata.category(c) in ("Cc", "Cf")], done.output
    assert target.state(name) in ("submitted", "accepted")


def test_names_as_sql(target: Target) -> None:
    """have names run as SQL when a release is made or asked"""
    hostile = "x'; DROP TABLE trials; --"
    lines = b"".join(json.dumps({"step": s, "elapsed_s": s, f'val/"{hostile}': v}).encode() + b"\n" for s, v in STORED)
    run, created = send(
        target.mallory, lines, dataset=hostile, model='y"; ATTACH', parameters={hostile: hostile}, notes=hostile
    )
    assert created.status_code == 201
    name, _ = reviewed(target, run, note=hostile)
    draft = f"/drafts/{target.draft(name)}/v1/sql"
    for statement in ("SELECT count(*) AS n FROM trials", "SELECT count(DISTINCT dataset) AS n FROM trials"):
        answer = target.client.post(draft, json={"sql": statement}, timeout=120)
        assert answer.status_code == 200, answer.text
        assert answer.json()["rows"][0]["n"] >= 1
    is_decided(target, name)


def test_lying_claims(target: Target) -> None:
    """claim a result that the log doesn't have"""
    run, _ = send(target.mallory, optimizer="liar")
    claim = {"contribution": run, "metric": "val/loss", "target": 1e-9, "steps": 1}
    name, _ = reviewed(target, run, claims=[claim])
    assert "claim" in refused(target.reviewer.send("POST", f"/v1/submissions/{name}/accept"), 409)
    for odd in ({"target": "NaN"}, {"target": 1e999}, {"steps": -1}, {"steps": 2**63}, {"metric": ""}):
        body = json.dumps({"contributions": [run], "licence": "CC-BY-4.0", "claims": [{**claim, **odd}]})
        refused(target.mallory.send("POST", "/v1/submissions", content=body), 422)
    is_decided(target, name)


def test_copies_of_stored_runs(target: Target) -> None:
    """have a stored run stored again under one's own name: as it is, with other facts, rounded, or with other steps"""
    original = fresh_run(batch_size=256)
    stored = target.victim.submitted(original)
    accepted = target.reviewer.send("POST", f"/v1/submissions/{stored}/accept", timeout=120)
    assert accepted.status_code == 200, accepted.text
    copy = SpooledRun(segments=dict(original.segments), batch_size=256)
    target.mallory.contribute(copy)
    name, _ = reviewed(target, copy.id)
    assert "a copy of" in refused(target.reviewer.send("POST", f"/v1/submissions/{name}/accept"), 409)
    is_decided(target, name)
    lines = original.segments[CURVE]
    for change in (
        lambda row: row,
        lambda row: {**row, "val/loss": float(f"{row['val/loss']:.5g}")},
        lambda row: {**row, "step": row["step"] * 2, "elapsed_s": row["step"]},
    ):
        data = b"".join(json.dumps(change(row)).encode() + b"\n" for row in lines)
        altered, _ = send(target.mallory, data, batch_size=256, parameters={"learning_rate": 0.3})
        name, review = reviewed(target, altered)
        found = {each["rule"]: each["message"] for each in review["report"]["findings"]}
        assert "near_copy" in found or "once more" in found["quarantined"], found
        is_decided(target, name)


def stored_trials(target: Target) -> dict[str, Any]:
    """The rows of the newest release about the trials that were stored first, by trial."""
    release = target.lake.release()
    files = target.lake.files(release, partitioned=False)
    rows = read_small_table(target.lake.store, files, "trials").to_pylist()
    return {str(Trial.of(row)): row for row in rows if row["optimizer"] == "sgd" and row["batch_size"] == 64}


def test_stored_studies_of_others(target: Target) -> None:
    """change, replace or hide stored trials by runs of the same study under other facts"""
    before, listed = stored_trials(target), target.files()
    assert len(before) >= 2
    lines = b"".join(
        json.dumps({"step": s, "elapsed_s": s, "val/loss": 5.0 + v * v}).encode() + b"\n" for s, v in STORED
    )
    run, _ = send(
        target.mallory,
        lines,
        batch_size=64,
        directions={"val/loss": "maximize"},
        goals=[{"metric": "val/loss", "target": 5.5}],
        steps=7,
    )
    name, _ = reviewed(target, run)
    answer = target.reviewer.send("POST", f"/v1/submissions/{name}/accept", timeout=120)
    assert answer.status_code in (200, 409)
    after = stored_trials(target)
    assert {trial: after[trial] for trial in before} == before
    kept = {path: facts for path, facts in listed.items() if path.endswith(".parquet")}
    assert {path: target.files().get(path) for path in kept} == kept


def test_files_of_the_lake(target: Target) -> None:
    """overwrite, delete or add files of the lake by what is sent before a reviewer accepts anything"""
    before = target.files()
    run, _ = send(target.mallory, optimizer="files")
    name, _ = reviewed(target, run)
    target.mallory.send("POST", f"/v1/submissions/{name}/withdraw")
    assert target.files() == before
    own = [path.relative_to(target.lake.folder) for path in target.lake.folder.rglob(f"*{run}*")]
    assert {path.parts[0] for path in own} <= {"contributions", "drafts"}


def test_credit_of_others(target: Target) -> None:
    """send runs in the name of somebody else, or hide who sent them"""
    run, _ = send(target.mallory, optimizer="credit")
    for orcid in ("0000-0002-1825-0098", "0000-0002-1825-009X", "' OR 1", ""):
        refused(submit(target.mallory, run, contributors=[{"name": "Ada", "orcid": orcid}]), 422)
    for extra in ({"owner": {"name": "Ada"}}, {"state": "accepted"}, {"reviewer": "Rea"}, {"release": 1}):
        refused(submit(target.mallory, run, **extra), 422)
    name, _ = reviewed(target, run, contributors=[{"name": "Ada", "orcid": "0000-0002-1825-0097"}])
    page = target.page(f"/reviews/{name}", target.reviewer).text
    assert "sent by" in page
    assert "Mallory" in page
    is_decided(target, name)


def test_spools_with_links(target: Target, tmp_path: Any) -> None:
    """have a client or the ingest read other files, by links in the folder of a run"""
    secret = tmp_path / "secret.json"
    secret.write_text('{"step": 1, "val/loss": 42}\n')
    spool = write_run(
        tmp_path / "runs",
        9,
        [{"step": s, "elapsed_s": float(s), "val/loss": v} for s, v in STORED],
        collection=COLLECTION,
    )
    (spool.folder / "0001" / "000002.jsonl").symlink_to(secret)
    (spool.folder / "0002").symlink_to(tmp_path)
    assert [segment.path for segment in read_spool(spool.folder).segments] == ["0001/000001.jsonl"]
    lake = Lake.create(tmp_path / "other")
    ingest(lake, [str(tmp_path / "runs")])
    assert b"secret" not in b"".join(path.read_bytes() for path in lake.folder.rglob("*") if path.is_file())
