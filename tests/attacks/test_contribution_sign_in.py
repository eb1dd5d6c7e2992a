"""Strangers who sign in with a provider, or have others do so; docs/threat-model.md lists the attacks."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from losslake_contributions.people.provider_requests import LARGEST
from losslake_contributions.people.tokens import create_token
from losslake_contributions.review.site import COOKIE
from losslake_contributions.store.tables import Account, PageSession, Token, UsedSignIn
from tests.attacks.contributors import Target, attacked, fresh_run, refused
from tests.contributions.conftest import Sender
from tests.contributions.people.browser import Browser
from tests.contributions.people.provider import (
    CLIENT_SECRET,
    LocalProvider,
    as_json,
    local_provider,
    presets,
    registered,
    visit,
)
from tests.contributions.people.test_openid import by_key_in_header, by_other_key, by_public_key, unsigned

pytestmark = [pytest.mark.slow, pytest.mark.attack]
HERE = "http://localhost:8010"
PENDING = "losslake_sign_in"
VICTIM, MALLORY = "0000-0002-1825-0097", "0000-0001-5109-3700"


@pytest.fixture(scope="module")
def running() -> Iterator[LocalProvider]:
    with local_provider() as found:
        yield found


@pytest.fixture
def provider(running: LocalProvider) -> LocalProvider:
    """The provider, with which Mallory signs in next."""
    running.reset()
    running.subject = {"sub": MALLORY, "name": "Mallory"}
    return running


@pytest.fixture(scope="module")
def target(running: LocalProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    settings = {**registered("orcid", "github"), "presets": presets(running), "sign_in_tokens_per_day": 1000}
    with attacked(tmp_path_factory.mktemp("attacked"), public_url=HERE, **settings) as found:
        yield found


@pytest.fixture
def browser(target: Target, provider: LocalProvider) -> Browser:
    return Browser(target.client, HERE)


@pytest.fixture
def victim(target: Target, provider: LocalProvider) -> Browser:
    """The browser of somebody who has begun to sign in."""
    found = Browser(target.client, HERE)
    found.begin()
    return found


def count(target: Target, *tables: Any) -> list[int]:
    def work(session: Session) -> list[int]:
        return [session.scalar(select(func.count()).select_from(table)) or 0 for table in tables]

    return target.database.read(work)


def refuses(answer: Any) -> None:
    """The answer signs nobody in, and says so on the page to sign in."""
    assert answer.status_code in (400, 403, 429, 502), (answer.status_code, answer.text)
    assert COOKIE not in answer.headers.get("set-cookie", "")
    assert 'role="alert"' in answer.text
    assert "Traceback" not in answer.text


def test_states_of_sign_ins(browser: Browser, victim: Browser) -> None:
    """sign in by an answer whose state is missing, made up, given twice, used, or of another browser"""
    path = browser.begin()
    state = parse_qs(urlsplit(path).query)["state"][0]
    others = parse_qs(urlsplit(victim.begin()).query)["state"][0]
    for wrong in ("", "x", state[:-1], state.swapcase(), others, f"{state}&state={state}", f"{state}%00", "%ff"):
        refuses(browser.ask("GET", path.replace(state, wrong)))
    refuses(browser.ask("GET", path.replace(f"&state={state}", "")))
    refuses(browser.ask("GET", path.replace("/orcid/", "/github/")))
    cookie = f"{PENDING}={browser.cookies[PENDING]}"
    assert browser.ask("GET", path).status_code == 200
    refuses(browser.ask("GET", path))
    refuses(browser.ask("GET", path, cookie=cookie))


def test_answers_in_browsers_of_others(browser: Browser, victim: Browser, target: Target) -> None:
    """have a victim's browser signed in as the attacker, in whose name it then sends runs, by a link with their code"""
    path = browser.begin()
    before = dict(victim.cookies)
    refuses(victim.ask("GET", path))
    refuses(Browser(target.client, HERE).ask("GET", path))
    assert victim.cookies == before
    for site in ("cross-site", "same-site"):
        begun = target.page("/sign-in/orcid", target.reviewer, **{"sec-fetch-site": site})
        assert (begun.status_code, "set-cookie" in begun.headers) == (200, False), "nor signed in anew by another site"
    for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
        assert target.press("/sign-in", None, headers, token=target.mallory.token).status_code == 403


def test_planted_cookies(browser: Browser, victim: Browser) -> None:
    """have a victim's browser signed in as the attacker, by cookies that another host of the domain plants"""
    path = browser.begin()
    own, planted = victim.cookies[PENDING], browser.cookies[PENDING]
    for cookie in (
        f"{PENDING}={own}; {PENDING}={planted}",
        f"{PENDING}={planted}; {PENDING}={own}",
        f"{PENDING}={planted}; {PENDING}=",
        f"{PENDING}={own}",
        f"{PENDING}={planted[:-1]}",
        f"{PENDING}={'x' * 5000}",
        f"{PENDING}=....",
        f"x={planted}",
        "",
    ):
        refuses(victim.ask("GET", path, cookie=cookie))
    browser.ask("GET", path)
    session = browser.cookies[COOKIE]
    for cookie in (f"{COOKIE}=x; {COOKIE}={session}", f"{COOKIE}={session}; {COOKIE}=x"):
        assert victim.ask("GET", "/tokens", cookie=cookie).status_code == 303


def test_ways_out_of_a_sign_in(browser: Browser) -> None:
    """lead who signs in, or the code of their provider, to another site"""
    for place in (
        "https://evil.example", "//evil.example", "/\\evil.example", "/reviews//evil.example", "javascript:alert(1)",
        "/tokens/../../evil", "/tokens?x=//evil.example", "/reviews/%0d%0aset-cookie:a=b", "/tokens%00", "0;url=//evil",
        '/reviews/"><script>', "/reviews/;url=//evil.example", "/drafts/x", "", "." * 2000,
    ):  # fmt: skip
        begun = browser.ask("GET", "/sign-in/orcid", params={"next": place, "redirect_uri": "https://evil.example"})
        sent = parse_qs(urlsplit(begun.headers["location"]).query)
        assert sent["redirect_uri"] == [f"{HERE}/sign-in/orcid/callback"]
        done = browser.ask("GET", visit(begun.headers["location"]).removeprefix(HERE))
        assert done.status_code == 200
        (following,) = re.findall(r'http-equiv="refresh" content="0; url=([^"]*)"', done.text)
        assert following == "/tokens" or re.fullmatch(r"/reviews/[^/]*", following), following
        assert "<script>" not in done.text
        assert "//evil" not in following
    for path in ("/sign-in/evil", "/sign-in/orcid/callback/x", "/sign-in/https:%2f%2fevil.example"):
        assert "evil.example" not in browser.ask("GET", path).headers.get("location", "")


WRONG_CLAIMS: list[dict[str, Any]] = [
    {"iss": "https://evil.example"}, {"aud": "APP-OTHER"}, {"aud": ["APP-LOSSLAKE", "APP-OTHER"]},
    {"azp": "APP-OTHER"}, {"exp": 1}, {"iat": 9_999_999_999}, {"nbf": 9_999_999_999}, {"nonce": "x"}, {"nonce": None},
    {"sub": None}, {"sub": "../x"},
]  # fmt: skip


def test_id_tokens_of_others(browser: Browser, provider: LocalProvider, target: Target) -> None:
    """be taken for somebody by an ID token that is forged, or is of another issuer, service, sign-in or time"""
    provider.subject = {"sub": VICTIM, "name": "Victoria"}
    for claims in WRONG_CLAIMS:
        provider.claims = claims
        refuses(browser.sign_in())
    provider.claims = {}
    for sign in (unsigned, by_public_key, by_other_key, by_key_in_header, lambda *_: "a.b.c"):
        provider.sign = sign
        refuses(browser.sign_in())
    provider.sign = None
    provider.header = {"kid": "unknown"}
    refuses(browser.sign_in())
    subjects = target.database.read(lambda session: session.scalars(select(Account.subject)).all())
    assert VICTIM not in subjects


def test_codes_of_others(browser: Browser, victim: Browser) -> None:
    """use a code of somebody else's sign-in that was read on its way, or one's own again"""
    stolen = parse_qs(urlsplit(victim.begin()).query)["code"][0]
    for code in (stolen, "", "x", "x" * 5000, f"{stolen}&code=x"):
        path = browser.begin()
        own = parse_qs(urlsplit(path).query)["code"][0]
        refuses(browser.ask("GET", path.replace(own, code)))
    path = browser.begin()
    own = parse_qs(urlsplit(path).query)["code"][0]
    assert browser.ask("GET", path).status_code == 200
    again = browser.begin()
    refuses(browser.ask("GET", again.replace(parse_qs(urlsplit(again).query)["code"][0], own)))


def test_hostile_answers_of_a_provider(browser: Browser, provider: LocalProvider, target: Target) -> None:
    """have the service fetch from its network, fill its memory or wait, by a provider's redirects, sizes and silence"""
    ended, reached = threading.Event(), f"{target.service.url}/healthz"

    def silent() -> Any:
        ended.wait(60)
        return as_json({})

    answers: list[Callable[[], Any]] = [
        lambda: (302, {"Location": reached}, b""),
        lambda: (200, {}, b"{" + b" " * LARGEST),
        lambda: (200, {"Content-Encoding": "gzip"}, b"\x1f\x8b" + b"x" * 100),
        lambda: (200, {}, b"[" * 100_000),
        lambda: (200, {"Content-Length": "99999999999"}, b"{"),
    ]
    provider.subject = {"sub": MALLORY}
    begun = time.monotonic()
    try:
        for path, answer in [*product(("/token", "/userinfo"), answers), ("/userinfo", silent)]:
            provider.wrong = {path: answer}
            refuses(browser.sign_in())
            assert target.client.get("/healthz").text == "ok"
    finally:
        ended.set()
    assert time.monotonic() - begun < 60


def test_names_of_strangers(browser: Browser, provider: LocalProvider) -> None:
    """run scripts, fill pages or deceive readers by the name at a provider"""
    for number, name in enumerate(
        ("<script>alert(1)</script>", "x" * 10_000, "\x1b[2J\x00\r\nset-cookie: a=b", "\u202eecila\u2066", "{{ 7*7 }}")
    ):
        provider.subject = {"sub": orcid(number), "name": name}
        done = browser.sign_in()
        assert done.headers.get_list("set-cookie")[0].startswith(COOKIE)
        page = browser.ask("GET", "/tokens").text
        assert "<script>alert" not in page
        assert "49" not in re.findall(r"You are ([^,]*)", page)[0]
        assert not re.search("[\u202e\u2066\x1b\x00]", page)
        assert len(page) < 10_000


def orcid(number: int) -> str:
    """An ORCID iD that nobody else has here."""
    from losslake_schema.contributors import orcid_check_digit

    digits = f"00000003{number:07d}"
    text = digits + orcid_check_digit(digits)
    return "-".join(text[at : at + 4] for at in range(0, 16, 4))


def test_accounts_of_others(browser: Browser, provider: LocalProvider, target: Target) -> None:
    """get the account of somebody by their name, e-mail address or login, or their ORCID iD by another provider"""
    run = fresh_run()
    victim = Sender(target.client, create_token(target.database, "Victoria", VICTIM, ["contribute"], 1))
    victim.create(run)
    for name, who in (
        ("orcid", {"sub": MALLORY, "name": "Victoria", "email": "victoria@example.org", "orcid": VICTIM}),
        ("github", {"id": 1, "login": "victoria", "name": "Victoria", "email": "victoria@example.org"}),
        ("github", {"id": int(VICTIM.replace("-", "")), "login": VICTIM, "orcid": VICTIM}),
    ):
        provider.subject = provider.user = who
        browser.sign_in(name)
        sender = Sender(target.client, browser.make_token())
        refused(sender.put(run), 404)
        assert victim.id not in browser.ask("GET", "/tokens").text
        assert browser.ask("POST", f"/tokens/{victim.id}/revoke").status_code == 404
    assert victim.send("GET", "/v1/submissions").status_code == 200


def test_quotas_by_many_sign_ins(provider: LocalProvider, target: Target) -> None:
    """get more than the small quota of a person, by signing in and making tokens again and again, and at once"""
    browsers = [Browser(target.client, HERE) for _ in range(6)]
    provider.subject = {"sub": orcid(100), "name": "Greedy"}
    for each in browsers:
        each.sign_in()
    with ThreadPoolExecutor(6) as pool:
        statuses = list(pool.map(lambda each: _make(target, each), browsers * 3))
    assert sorted(statuses) == [200] * 3 + [403] * 15
    made = target.database.read(
        lambda session: session.scalars(
            select(Token).join(Account, Account.contributor == Token.contributor).where(Account.subject == orcid(100))
        ).all()
    )
    assert sum(each.most_runs for each in made) == 3 * 200
    assert sum(each.scopes == "account contribute" for each in made) == 1


def _make(target: Target, browser: Browser) -> int:
    """Make a token, in a thread: a client of httpx has its cookies in common, so they are in the header."""
    headers = {"accept": "text/html", "sec-fetch-site": "same-origin", "cookie": f"{COOKIE}={browser.cookies[COOKIE]}"}
    return target.client.post("/tokens", headers=headers).status_code


def test_scopes_by_signing_in(browser: Browser, target: Target) -> None:
    """review, use the REST interface or get a larger token, with what signing in gives"""
    browser.sign_in()
    form = {"scope": "review", "scopes": "review account", "runs": "1000000", "days": "3650", "contributor": "x"}
    answer = browser.ask("POST", "/tokens", data=form)
    (token,) = re.findall(r"llc_[0-9a-f]{12}_[\w-]{43}", answer.text)
    row = target.database.read(lambda session: session.get_one(Token, token[4:16]))
    assert (row.scopes, row.most_runs, (row.expires_at - row.created_at).days) == ("contribute", 200, 90)
    sender = Sender(target.client, token)
    name = target.victim.submitted(fresh_run())
    for verb in ("accept", "return", "split"):
        refused(sender.send("POST", f"/v1/submissions/{name}/{verb}", json={"reason": "x"}), 403, 404, 422)
        assert browser.ask("POST", f"/reviews/{name}/{verb}", data={"reason": "x"}).status_code in (403, 404)
    refused(target.client.get("/v1/submissions", headers={"cookie": f"{COOKIE}={browser.cookies[COOKIE]}"}), 401)
    for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
        cookie = {"cookie": f"{COOKIE}={browser.cookies[COOKIE]}"}
        assert target.press("/tokens", None, {**headers, **cookie}).status_code == 403
        assert target.press(f"/tokens/{token[4:16]}/revoke", None, {**headers, **cookie}).status_code == 403
    assert sender.send("GET", "/v1/submissions").status_code == 200


def test_secrets_of_sign_ins(browser: Browser, target: Target) -> None:
    """read codes, states, cookies or the secret of the service in its log, pages or headers"""
    path = browser.begin()
    pending = browser.cookies[PENDING]
    done = browser.ask("GET", path)
    assert done.headers["referrer-policy"] == "no-referrer"
    assert "no-store" in done.headers["cache-control"]
    query = parse_qs(urlsplit(path).query)
    secrets = [query["code"][0], query["state"][0], pending, browser.cookies[COOKIE], CLIENT_SECRET]
    token = browser.make_token()
    shown = "".join(target.service.errors) + done.text + browser.ask("GET", "/tokens").text
    assert not [secret for secret in [*secrets, token] if secret in shown]
    with target.lake.engine.connect() as connection:
        rows = [
            str(connection.execute(select(table)).all())
            for table in (Account.__table__, PageSession.__table__, UsedSignIn.__table__, Token.__table__)
        ]
    assert not [secret for secret in [*secrets, token[17:]] if secret in "".join(rows)]


def test_floods_of_sign_ins(browser: Browser, target: Target) -> None:
    """fill the database by beginning to sign in without end, or by answers that were made up"""
    before = count(target, Account, UsedSignIn, PageSession, Token)
    for _ in range(200):
        path = browser.begin()
    for _ in range(50):
        refuses(browser.ask("GET", re.sub("code=[^&]*", "code=x", path)))
        path = browser.begin()
    assert count(target, Account, UsedSignIn, PageSession, Token) == before
