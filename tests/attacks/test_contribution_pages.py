"""Strangers against pages, drafts and what browsers do for them; docs/threat-model.md lists the attacks."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from urllib.parse import quote
from uuid import UUID

import httpx
import pytest

from losslake.record.spool import new_name
from losslake_contributions.people.signing_key import SigningKey, link_token
from losslake_contributions.people.tokens import revoke_token
from losslake_contributions.review.draft_pages import COOKIE as DRAFT_COOKIE
from losslake_contributions.review.site import COOKIE
from tests.attacks.contributors import BROWSER, FROM_HERE, Target, fresh_run, refused
from tests.service.running import served

pytestmark = [pytest.mark.slow, pytest.mark.attack]
UNKNOWN = "00000000-0000-4000-8000-000000000000"
CURVE = "0001/000001.jsonl"


@pytest.fixture(scope="module")
def theirs(target: Target) -> str:
    """A submission of the victim, with its draft."""
    name = target.victim.submitted(fresh_run(batch_size=4242), note="private words")
    target.wait_for_review(name)
    return name


@pytest.fixture(scope="module")
def mine(target: Target) -> str:
    """A submission of the attacker, with its draft."""
    name = target.mallory.submitted(fresh_run(batch_size=128))
    target.wait_for_review(name)
    return name


def ask(target: Target, token: str, path: str, **headers: str) -> httpx.Response:
    """Ask a draft as a program does."""
    return target.client.get(f"/drafts/{token}{path}", headers=headers, timeout=120)


def statement(target: Target, token: str, sql: str) -> httpx.Response:
    return target.client.post(f"/drafts/{token}/v1/sql", json={"sql": sql}, timeout=120)


def test_forged_draft_links(target: Target, theirs: str) -> None:
    """see a draft by a link that is made up, changed, of a record that isn't there, or signed with another key"""
    right = target.draft(theirs)
    assert ask(target, right, "/v1/workloads").status_code == 200
    data = base64.urlsafe_b64decode(right)
    forged = [
        base64.urlsafe_b64encode(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]).decode() for at in range(len(data))
    ]
    forged += [
        link_token("draft", bytes(32), UUID(bytes=data[:16])),
        link_token("draft", SigningKey.of(target.lake).read(), UUID(theirs)),
        right[:-1],
        f"{right}A",
        right.swapcase(),
        right.lower(),
        f"{right}%00",
        theirs,
        "..",
        quote("' OR 1=1 --"),
        "A" * 56,
    ]
    for token in forged:
        answer = ask(target, token, "/v1/workloads")
        assert answer.status_code in (307, 400, 404), token
        assert "set-cookie" not in answer.headers
        assert "4242" not in answer.text


def test_mixed_cookies(target: Target, theirs: str, mine: str) -> None:
    """see another's draft by mixing cookies and links, or use the one cookie for the other"""
    own, other = target.draft(mine), target.draft(theirs)
    for cookie in (
        f"{DRAFT_COOKIE}={theirs}",
        f"{DRAFT_COOKIE}={own[:-8]}{other[-8:]}",
        f"{COOKIE}={own}",
        f"{DRAFT_COOKIE}={target.mallory.token}",
        f"x={other}",
        f"{DRAFT_COOKIE}",
        f"{DRAFT_COOKIE}={own}; {DRAFT_COOKIE}=x",
    ):
        answer = target.client.get("/v1/workloads", headers={"cookie": cookie})
        assert "4242" not in answer.text
        assert target.page(f"/reviews/{theirs}", None, cookie=cookie).status_code in (303, 404)
    by_path = ask(target, own, "/v1/studies", cookie=f"{DRAFT_COOKIE}={other}")
    assert "4242" not in by_path.text
    assert "128" in by_path.text


def test_sql_in_drafts(target: Target, theirs: str, mine: str) -> None:
    """read files, the lake, its database or other drafts by SQL in one's own draft, or write"""
    own, folder = target.draft(mine), target.lake.folder
    assert statement(target, own, "SELECT count(*) AS n FROM trials").status_code == 200
    data = next(folder.rglob("*.parquet"))
    other = next((folder / "drafts" / theirs).rglob("*.parquet"))
    paths = [
        data,
        other,
        folder / "lake.toml",
        *folder.glob("*.sqlite"),
        folder / "drafts" / theirs,
        "/etc/passwd",
        "/proc/self/environ",
    ]
    statements = [
        f"SELECT * FROM {function}('{path}')"
        for path in paths
        for function in ("read_text", "read_parquet", "read_blob", "glob")
    ]
    statements += [f"SELECT * FROM '{path}'" for path in paths]
    statements += [f"ATTACH '{path}' AS x" for path in paths]
    statements += [
        f"COPY trials TO '{folder}/x.csv'",
        "CREATE TABLE x AS SELECT 1",
        "DELETE FROM trials",
        "PRAGMA database_list",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "SELECT getenv('HOME')",
        "SELECT 1; SELECT 2",
        "SELECT * FROM losslake_contribution_tokens",
        "SELECT * FROM duckdb_settings()",
    ]
    for sql in statements:
        answer = statement(target, own, sql)
        assert answer.status_code in (400, 403, 404, 422), (sql, answer.text)
        assert str(folder) not in answer.text.replace(sql, "").replace(str(folder / "x.csv"), "") or str(folder) in sql
    studies = statement(target, own, "SELECT DISTINCT batch_size FROM trials").text
    assert "4242" not in studies


def test_files_of_drafts(target: Target, theirs: str, mine: str) -> None:
    """reach files of the machine, the lake or other drafts by paths below a draft"""
    own = target.draft(mine)
    for path in (
        f"/data/..%2f..%2f..%2f{theirs}",
        "/data/%2e%2e/%2e%2e/lake.toml",
        "/data//etc/passwd",
        "/data/%00",
        "/static/../../lake.toml",
        "/static/x/..%2f..%2f..%2fsettings.py",
        f"/../{theirs}/",
        "/data/..\\..\\lake.toml",
        "/../../v1/submissions",
        "/drafts/leave",
        "/v1/submissions",
        "/v1/contributions/x",
        "/reviews",
        "/contribute",
        "/sign-in",
    ):
        answer = ask(target, own, path)
        assert answer.status_code in (307, 400, 401, 404, 405, 422), (path, answer.status_code)
        assert "private words" not in answer.text
        assert "root:" not in answer.text


def test_drafts_after_decisions(target: Target) -> None:
    """go on reading a draft by its link or cookie after it was withdrawn or returned"""
    for verb, who in (("withdraw", target.victim), ("return", target.reviewer)):
        name = target.victim.submitted(fresh_run(batch_size=777))
        token = target.draft(name)
        assert ask(target, token, "/v1/studies").status_code == 200
        assert who.send("POST", f"/v1/submissions/{name}/{verb}", json={"reason": "no"}).status_code == 200
        assert "777" not in refused(ask(target, token, "/v1/studies"), 409)
        refused(target.client.get("/v1/studies", headers={"cookie": f"{DRAFT_COOKIE}={token}"}), 409)


def test_shared_caches(target: Target, theirs: str) -> None:
    """get private pages from a cache that others share"""
    token = target.draft(theirs)
    answers = [
        target.page("/reviews", target.victim),
        target.page(f"/reviews/{theirs}", target.victim),
        target.page("/contribute"),
        target.page("/sign-in"),
        target.page(f"/reviews/{theirs}/review.json", target.victim),
        target.page("/reviews"),
        target.victim.send("GET", f"/v1/submissions/{theirs}"),
        target.mallory.send("GET", f"/v1/submissions/{theirs}"),
        ask(target, token, "/v1/studies"),
        ask(target, token, "/", accept="text/html"),
        ask(target, "x", "/"),
        target.client.get("/", headers={**BROWSER, "cookie": f"{DRAFT_COOKIE}={token}"}),
        target.client.get("/v1/studies", headers={"cookie": f"{DRAFT_COOKIE}={token}"}),
    ]
    for answer in answers:
        assert "no-store" in answer.headers.get("cache-control", ""), answer.request.url
        assert len(answer.headers.get_list("referrer-policy")) == 1


def test_forms_of_other_sites(target: Target, theirs: str) -> None:
    """let the browser of a reviewer or contributor decide, by a form on another site, a link or a picture"""
    for headers in (
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": f"http://127.0.0.1:{target.service.port}.evil.example"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": ""},
    ):
        for verb, who in (("accept", target.reviewer), ("return", target.reviewer), ("withdraw", target.victim)):
            assert target.press(f"/reviews/{theirs}/{verb}", who, headers, reason="x").status_code == 403
        assert target.press("/sign-in", None, headers, token=target.mallory.token).status_code == 403
        assert target.press("/sign-out", target.victim, headers).status_code == 403
    for verb in ("accept", "return", "split", "withdraw"):
        assert target.page(f"/reviews/{theirs}/{verb}", target.reviewer).status_code in (404, 405)
    assert target.state(theirs) == "submitted"


def test_cookies_as_tokens(target: Target, theirs: str) -> None:
    """let a browser with a cookie use the REST interface, by a script on another site"""
    for method, path in (
        ("GET", f"/v1/submissions/{theirs}"),
        ("POST", f"/v1/submissions/{theirs}/accept"),
        ("GET", "/v1/submissions"),
    ):
        cookie = {"cookie": f"{COOKIE}={target.cookie(target.reviewer)}", "origin": "https://evil.example"}
        answer = target.client.request(method, path, headers=cookie)
        refused(answer, 401)
        assert "access-control-allow-origin" not in answer.headers
        assert "access-control-allow-credentials" not in answer.headers


def test_links_to_other_sites(target: Target, mine: str) -> None:
    """lead whoever signs in, or follows a link to a draft, to another site"""
    token = target.draft(mine)
    places = [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/reviews//evil.example",
        "/reviews/..//evil.example",
        "/reviews/\\evil.example",
        "javascript:alert(1)",
        "/reviews/%0d%0aset-cookie:a=b",
        "/reviews/\r\nset-cookie: a=b",
        " //evil.example",
        "/reviewsevil",
        "/reviews/@evil.example",
    ]
    for place in places:
        answer = target.press("/sign-in", None, token=target.mallory.token, next=place)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/reviews")
        assert not answer.headers["location"].startswith("/reviews//")
        assert answer.headers["set-cookie"].startswith(f"{COOKIE}=")
        for path in (f"/drafts/{token}/{place.strip()}", f"/drafts/{token}//{quote(place)}"):
            answer = target.client.get(path.replace("\r\n", "%0d%0a"), headers=BROWSER)
            location = answer.headers.get("location", "/")
            assert location.startswith("/")
            assert not location.startswith(("//", "/\\"))
    led = target.page(f"/reviews/{new_name()}&next=evil.example").headers["location"]
    assert led.count("next=") == 1


def test_frames_and_types(target: Target, theirs: str) -> None:
    """frame a page to have its buttons pressed, or have a browser take a segment for a page"""
    html = b'<!doctype html><script>alert(1)</script>\n{"step":1,"elapsed_s":0,"val/loss":1}\n'
    run = fresh_run(batch_size=2)
    target.mallory.create(run)
    digest = hashlib.sha256(html).hexdigest()
    assert target.mallory.put(run, data=html, sha256=digest).status_code == 201
    pages = [
        target.page(path, target.reviewer) for path in ("/reviews", f"/reviews/{theirs}", "/sign-in", "/contribute")
    ]
    for page in pages:
        policy = page.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy or page.headers.get("x-frame-options") == "DENY"
        assert "form-action 'self'" in policy
        assert "base-uri" in policy
    shown = target.page(f"/reviews/{theirs}/runs/{run.id}/1/1", target.mallory)
    assert shown.content == html
    sent = target.mallory.send("GET", f"/v1/contributions/{run.id}/segments/1/1")
    for answer in (shown, sent):
        assert answer.headers["content-type"].partition(";")[0] in ("text/plain", "application/jsonl")
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_pages_of_others(target: Target, theirs: str, mine: str) -> None:
    """read the page, review, runs or segments of somebody else's submission, or learn whether it exists"""
    (run,) = target.victim.send("GET", f"/v1/submissions/{theirs}").json()["contributions"]
    for path in ("", "/review.json"):
        foreign, unknown = (target.page(f"/reviews/{name}{path}", target.mallory) for name in (theirs, UNKNOWN))
        assert (foreign.status_code, unknown.status_code) == (404, 404)
        assert "private words" not in foreign.text
    for name in (theirs, mine):
        for path in (f"runs/{run}", f"runs/{run}/1/1"):
            foreign = target.page(f"/reviews/{name}/{path}", target.mallory)
            assert foreign.status_code == 404
            assert "4242" not in foreign.text
    for path in (f"/reviews/{theirs}", f"/reviews/{theirs}/review.json", f"/reviews/{theirs}/runs/{run}", "/reviews"):
        answer = target.page(path)
        assert answer.status_code in (303, 401)
        assert "private words" not in answer.text
    for verb in ("accept", "return", "split", "withdraw", "delete"):
        assert target.press(f"/reviews/{theirs}/{verb}", target.mallory, reason="x", runs=run).status_code in (403, 404)
        assert target.press(f"/reviews/{theirs}/{verb}", None, reason="x", runs=run).status_code == 401
    assert target.state(theirs) == "submitted"


def test_odd_pages(target: Target, theirs: str) -> None:
    """break a page by numbers, ids, states and forms that no link has"""
    (run,) = target.victim.send("GET", f"/v1/submissions/{theirs}").json()["contributions"]
    paths = [
        f"/reviews/{theirs}/runs/{run}/{number}/1" for number in ("9" * 30, "-1", "0", "x", "%00", "1.5", "\u0661")
    ]
    paths += [f"/reviews/{theirs}/runs/{odd}" for odd in ("%2e%2e%2f", "%00", "x" * 2000, "'")]
    paths += [f"/reviews/{odd}" for odd in ("%00" * 36, "x", "'" * 36, "\u00e9" * 36, "..%2f..")]
    paths += [
        "/reviews?state=x",
        "/reviews?state=%00",
        f"/reviews?after={'%00' * 36}",
        f"/reviews?after={UNKNOWN}",
        "/reviews/",
    ]
    for path in paths:
        answer = target.page(path, target.reviewer)
        assert answer.status_code in (303, 400, 404, 405, 422), (path, answer.status_code)
        assert "Traceback" not in answer.text
    for body in (
        b"\xff\xfe",
        b"&" * 1000,
        b"reason=" + b"x" * 150_000,
        b"=&=&",
        b"reason=%00",
        b"reason=%ff",
        b"reason=\xe2\x80\xae",
    ):
        headers = {
            "cookie": f"{COOKIE}={target.cookie(target.reviewer)}",
            "content-type": "application/x-www-form-urlencoded",
            **FROM_HERE,
        }
        answer = target.client.post(f"/reviews/{theirs}/return", content=body, headers=headers, timeout=120)
        assert answer.status_code in (400, 413, 422), (body[:20], answer.status_code)
    assert target.press(f"/reviews/{theirs}/split", target.reviewer, runs="../x\n%00").status_code == 422
    assert target.state(theirs) == "submitted"


def test_stolen_cookies(target: Target) -> None:
    """take the cookie from a script, another site or a page that was left"""
    answer = target.press("/sign-in", None, token=target.victim.token)
    cookie = answer.headers["set-cookie"].lower()
    assert {"httponly", "samesite=strict", "path=/"} <= {part.strip() for part in cookie.split(";")}
    value = answer.headers["set-cookie"].partition(";")[0].partition("=")[2]
    assert not [part for part in target.victim.token.split("_")[1:] if part in cookie]
    stolen = {"cookie": f"{COOKIE}={value}", **FROM_HERE}
    assert target.client.get("/reviews", headers=stolen).status_code == 200
    left = target.client.post("/sign-out", headers=stolen)
    assert f'{COOKIE}=""' in left.headers["set-cookie"]
    assert target.client.get("/reviews", headers=stolen).status_code == 303
    leaver = target.someone("Leaver")
    cookie = target.cookie(leaver)
    assert target.page("/reviews", leaver).status_code == 200
    revoke_token(target.database, leaver.id)
    assert target.page("/reviews", leaver).status_code == 303
    assert target.client.get("/reviews", headers={"cookie": f"{COOKIE}={leaver.token}"}).status_code == 303
    assert target.press("/sign-in", None, token="llc_" + "0" * 12 + "_" + "A" * 43).status_code == 401
    assert "set-cookie" not in target.press("/sign-in", None, token="x").headers


def test_tokens_in_logs(target: Target, mine: str) -> None:
    """use links to drafts that somebody finds in the log"""
    token = target.draft(mine)
    ask(target, token, "/v1/workloads")
    target.client.get(f"/drafts/{token}/", headers=BROWSER)
    target.client.get("/v1/workloads", headers={"cookie": f"{DRAFT_COOKIE}={token}"})
    assert not [line for line in target.service.errors if token[:40] in line]
    assert [line for line in target.service.errors if "/drafts/..." in line]


def test_contributions_in_the_read_service(target: Target, theirs: str, tmp_path: Path) -> None:
    """get runs that nobody has accepted, drafts or tokens from the public service of the same lake"""
    (run,) = target.victim.send("GET", f"/v1/submissions/{theirs}").json()["contributions"]
    files = [
        path.relative_to(target.lake.folder).as_posix() for path in target.lake.folder.rglob("*") if path.is_file()
    ]
    hidden = [path for path in files if path.startswith(("contributions/", "drafts/"))]
    assert hidden
    with (
        served(tmp_path, lake=str(target.lake.folder), sql_enabled=True) as running,
        httpx.Client(base_url=running.url, timeout=60) as client,
    ):
        for path in [*hidden[:20], "lake.toml", *(file for file in files if ".sqlite" in file)]:
            for place in (f"/data/{path}", f"/{path}", f"/data/..%2f{path}", f"/static/../{path}"):
                assert client.get(place).status_code in (400, 404), place
        for path in ("/v1/submissions", f"/v1/contributions/{run}", "/reviews", f"/drafts/{target.draft(theirs)}/"):
            assert client.get(path).status_code == 404
        file = target.lake.folder / hidden[0]
        for sql in ("SELECT * FROM losslake_contribution_tokens", f"SELECT * FROM read_text('{file}')"):
            assert client.post("/v1/sql", json={"sql": sql}).status_code in (400, 403, 404, 422, 503)
        listed = client.get("/v1/releases/1/files").text + client.get("/v1/studies").text
    assert run not in listed
    assert "4242" not in listed
    assert not [name for name in ("contributions/", "drafts/") if name in listed]


def test_paths_in_answers(target: Target) -> None:
    """learn where the lake lies on the machine, by runs that can't be read or stored"""
    run = fresh_run(segments={"0001/000001.jsonl": [{"no": "step"}]})
    name = target.mallory.submitted(run)
    review = target.wait_for_review(name)
    assert review["changes"]["quarantined"]
    answers = [str(review), target.page(f"/reviews/{name}", target.mallory).text]
    for path in (target.lake.folder / "contributions" / run.id).glob("*.zst"):
        path.write_bytes(b"altered")
    answers += [
        refused(target.reviewer.send("POST", f"/v1/submissions/{name}/accept")),
        refused(target.mallory.send("GET", f"/v1/contributions/{run.id}/segments/1/1"), 503),
        target.page(f"/reviews/{name}", target.reviewer).text,
    ]
    assert not [text for text in answers if str(target.lake.folder) in text or f"drafts/{name}" in text]
    assert target.press(f"/reviews/{name}/return", target.reviewer, reason="no").status_code == 303
