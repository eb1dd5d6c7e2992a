"""Signing in with ORCID, GitHub or another provider: with real ones on this machine; and the tokens of people."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from losslake.lake.lake import Lake
from losslake_cli.main import app
from losslake_contributions.people import providers
from losslake_contributions.people.accounts import AccountLimits, begin_account_session
from losslake_contributions.people.providers import Person
from losslake_contributions.people.sessions import find_session
from losslake_contributions.people.tokens import list_tokens
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.review.site import COOKIE
from losslake_contributions.serve import serve
from losslake_contributions.settings import Settings
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Account, Contributor, PageSession, Token
from losslake_schema.errors import LossLakeError
from tests.contributions.conftest import BOB, Sender, Service, serving
from tests.contributions.people.browser import Browser
from tests.contributions.people.provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    ORCID,
    LocalProvider,
    local_provider,
    presets,
    registered,
)
from tests.contributions.running import running_service
from tests.contributions.spooled_runs import SpooledRun

HERE = "http://localhost"


@pytest.fixture(scope="module")
def university() -> Iterator[LocalProvider]:
    with local_provider() as found:
        yield found


@pytest.fixture(scope="module")
def service(
    running: LocalProvider, university: LocalProvider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    lake = Lake.create(tmp_path_factory.mktemp("sign-in") / "lake")
    oidc = {"oidc_issuer": university.url, "oidc_title": "Our university"}
    settings = {**registered("orcid", "github", "oidc"), **oidc, "public_url": HERE, "sign_in_tokens": 2}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(providers, "PRESETS", presets(running))
        with serving(lake, **settings) as made:
            yield made


def browser_of(service: Service) -> Browser:
    return Browser(service.client, HERE)


@pytest.fixture
def browser(service: Service, provider: LocalProvider) -> Browser:
    return browser_of(service)


def contributors(service: Service) -> list[tuple[str, str | None]]:
    rows = service.database.read(lambda session: session.scalars(select(Contributor)).all())
    return sorted((each.name, each.orcid) for each in rows)


def test_orcid_id_and_name_become_the_credit_of_a_contributor_who_sends_runs(
    service: Service, browser: Browser
) -> None:
    done = browser.sign_in(query="?next=/tokens")
    assert done.status_code == 200
    assert '<meta http-equiv="refresh" content="0; url=/tokens">' in done.text
    assert (done.headers["cache-control"], done.headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert list(browser.cookies) == [COOKIE]
    page = browser.ask("GET", "/tokens").text
    assert "You are Ada Lovelace" in page
    assert ORCID in page
    token = browser.make_token()
    assert token not in browser.ask("GET", "/tokens").text, "it is shown once"
    sender = Sender(service.client, token)
    name = sender.submitted(SpooledRun())
    status = sender.send("GET", f"/v1/submissions/{name}").json()
    assert status["owner"] == {"name": "Ada Lovelace", "orcid": ORCID, "role": None}
    assert "1 of 200" in browser.ask("GET", "/tokens").text
    assert name in browser.ask("GET", "/reviews").text
    assert "Withdraw" in browser.ask("GET", f"/reviews/{name}").text
    assert browser.ask("POST", f"/reviews/{name}/withdraw").status_code == 303
    assert sender.send("GET", f"/v1/submissions/{name}").json()["state"] == "withdrawn"


def test_the_second_sign_in_is_the_same_account_whatever_the_name(service: Service, provider: LocalProvider) -> None:
    for name in ("Ada Lovelace", "Grace Hopper"):
        provider.subject = {"sub": BOB, "name": name}
        assert browser_of(service).sign_in().status_code == 200
    assert [each for each in contributors(service) if each[1] == BOB] == [("Ada Lovelace", BOB)]


def test_contributor_whom_the_operator_made_with_the_same_orcid_id_is_the_same(
    service: Service, provider: LocalProvider, university: LocalProvider, browser: Browser
) -> None:
    orcid = "0000-0001-5000-0007"
    run, made = SpooledRun(), service.sender("Known", orcid)
    made.create(run)
    provider.subject = {"sub": orcid, "name": "Somebody Else"}
    browser.sign_in()
    assert Sender(service.client, browser.make_token()).put(run).status_code == 201
    assert f"llc_{made.id}_" in browser.ask("GET", "/tokens").text
    university.subject = provider.subject
    other = browser_of(service)
    other.sign_in("oidc")
    assert ("Somebody Else", None) in contributors(service), "only ORCID vouches for ORCID iDs"
    assert Sender(service.client, other.make_token()).put(run).status_code == 404


def test_github_account_is_an_identity_by_its_number_without_orcid(
    service: Service, provider: LocalProvider, browser: Browser
) -> None:
    browser.sign_in("github")
    assert "You are octocat (GitHub)." in browser.ask("GET", "/tokens").text
    provider.user["login"] = "renamed"
    again = browser_of(service)
    again.sign_in("github")
    assert "You are octocat (GitHub)." in again.ask("GET", "/tokens").text
    provider.user = {"id": 9, "login": "octocat"}
    other = browser_of(service)
    other.sign_in("github")
    subjects = service.database.read(lambda session: session.scalars(select(Account.subject)).all())
    assert {"583231", "9"} <= set(subjects), "whoever takes a login over is somebody else"


def test_authorization_request_has_state_nonce_pkce_and_the_fixed_redirect_uri(browser: Browser) -> None:
    begun = browser.ask("GET", "/sign-in/orcid?next=/tokens&redirect_uri=https://evil.example")
    cookie = {part.strip().lower().partition("=")[0] for part in begun.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite", "max-age", "path"} <= cookie
    assert "samesite=lax" in begun.headers["set-cookie"].lower()
    sent = parse_qs(urlsplit(begun.headers["location"]).query)
    assert sent["redirect_uri"] == [f"{HERE}/sign-in/orcid/callback"]
    assert (sent["code_challenge_method"], sent["scope"]) == (["S256"], ["openid"])
    assert len({*sent["state"], *sent["nonce"], *sent["code_challenge"]}) == 3
    other = parse_qs(urlsplit(browser.ask("GET", "/sign-in/orcid").headers["location"]).query)
    assert all(sent[name] != other[name] for name in ("state", "nonce", "code_challenge"))


def test_reviewer_sees_which_provider_has_identified_the_sender(
    service: Service, browser: Browser, reviewer: Sender
) -> None:
    browser.sign_in("github")
    by_person = Sender(service.client, browser.make_token()).submitted(SpooledRun())
    by_other = service.sender("octocat (GitHub)", None).submitted(SpooledRun())
    judge = browser_of(service)
    judge.ask("POST", "/sign-in", data={"token": reviewer.token})
    assert "identified by 127.0.0.1" in judge.ask("GET", f"/reviews/{by_person}").text
    assert "identified by" not in judge.ask("GET", f"/reviews/{by_other}").text


@pytest.mark.parametrize("name", ["empty_lake", "lake_in_postgresql"])
def test_first_sign_ins_at_the_same_moment_make_one_account(request: pytest.FixtureRequest, name: str) -> None:
    database = Database.create(request.getfixturevalue(name))
    limits = AccountLimits.of(Settings.model_construct())
    ada, together = Person("https://orcid.org", ORCID, "Ada", ORCID), threading.Barrier(8)

    def sign_in(number: int) -> str:
        together.wait(60)
        return begin_account_session(database, ada, f"state {number // 2}", limits, "127.0.0.1")

    with ThreadPoolExecutor(8) as pool:
        answers = [each.exception() or each.result() for each in [pool.submit(sign_in, n) for n in range(8)]]
    cookies = [each for each in answers if isinstance(each, str)]
    assert len(cookies) == 4, answers
    assert {str(each) for each in answers if not isinstance(each, str)} == {
        "this answer was used already: begin again on the page to sign in"
    }
    identities = [find_session(database, each) for each in cookies]
    assert len({each.token for each in identities if each is not None}) == 1
    assert None not in identities
    assert len(list_tokens(database)) == 1


def test_new_accounts_of_a_day_are_limited_and_known_ones_go_on(empty_lake: Lake) -> None:
    database = Database.create(empty_lake)
    limits = AccountLimits.of(Settings.model_construct(sign_in_accounts_per_day=1))
    for person, state in (
        (Person("https://a.example", "1", "Ada"), "s1"),
        (Person("https://a.example", "1", ""), "s2"),
    ):
        assert begin_account_session(database, person, state, limits, "127.0.0.1")
    with pytest.raises(ContributionError, match="too many people have signed in for the first time today") as error:
        begin_account_session(database, Person("https://a.example", "2", "Bob"), "s3", limits, "127.0.0.1")
    assert error.value.status == 429


def test_cookies_over_https_are_for_this_host_only(empty_lake: Lake, provider: LocalProvider) -> None:
    settings = {**registered("oidc"), "oidc_issuer": provider.url, "oidc_title": "University"}
    with serving(empty_lake, public_url="https://losslake.example", **settings) as made:
        browser = Browser(made.client, "https://losslake.example")
        begun = browser.ask("GET", "/sign-in/oidc").headers["set-cookie"]
        assert begun.startswith("__Host-losslake_sign_in=")
        assert {"secure", "path=/", "httponly"} <= {part.strip().lower() for part in begun.split(";")}
        assert "domain" not in begun.lower()
        done = browser.sign_in("oidc")
    assert [line for line in done.headers.get_list("set-cookie") if "; secure" not in line.lower()] == []


def test_tokens_of_a_person_are_few_small_and_revocable(service: Service, provider: LocalProvider) -> None:
    provider.subject = {"sub": "0000-0003-0000-0003", "name": "Many"}
    browser = browser_of(service)
    browser.sign_in()
    first = browser.make_token()
    browser.make_token()
    full = browser.ask("POST", "/tokens")
    assert (full.status_code, "you have 2 valid tokens, which is the most: revoke one first" in full.text) == (
        403,
        True,
    )
    assert browser.ask("POST", f"/tokens/{first[4:16]}/revoke").status_code == 303
    assert "revoked" in Sender(service.client, first).send("GET", "/v1/submissions").text
    browser.make_token()
    rows = [each for each in list_tokens(service.database) if each.owner.name == "Many"]
    assert [(each.scopes, each.most_runs) for each in rows if each.parent] == [("contribute", 200)] * 3


def test_tokens_made_within_a_day_are_limited_also_when_they_are_revoked(
    service: Service, provider: LocalProvider
) -> None:
    provider.subject = {"sub": "0000-0002-0000-0006", "name": "Busy"}
    browser = browser_of(service)
    browser.sign_in()
    for _ in range(3):
        token = browser.make_token()
        browser.ask("POST", f"/tokens/{token[4:16]}/revoke")
    refused = browser.ask("POST", "/tokens")
    assert refused.status_code == 429
    assert "you have made 3 tokens within a day" in refused.text
    with Session(service.lake.engine) as session:
        session.execute(update(Token).values(created_at=datetime.now(UTC) - timedelta(days=1, seconds=1)))
        session.commit()
    assert browser.make_token()


def test_person_sees_and_revokes_no_token_of_others(service: Service, browser: Browser, bob: Sender) -> None:
    browser.sign_in("github")
    assert bob.id not in browser.ask("GET", "/tokens").text
    answer = browser.ask("POST", f"/tokens/{bob.id}/revoke")
    assert (answer.status_code, "you have no such token" in answer.text) == (404, True)
    assert bob.send("GET", "/v1/submissions").status_code == 200


def test_token_of_the_operator_opens_no_page_of_tokens(service: Service, browser: Browser, bob: Sender) -> None:
    for method in ("GET", "POST"):
        answer = browser.ask(method, "/tokens")
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=/tokens")
    browser.ask("POST", "/sign-in", data={"token": bob.token})
    for method, path in (("GET", "/tokens"), ("POST", "/tokens"), ("POST", f"/tokens/{bob.id}/revoke")):
        answer = browser.ask(method, path)
        assert (answer.status_code, "you have signed in with a token" in answer.text) == (403, True)
    assert bob.send("GET", "/v1/submissions").status_code == 200


def test_operator_closes_an_account_with_all_that_it_made(
    service: Service, provider: LocalProvider, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.subject = {"sub": "0000-0001-0000-0009", "name": "Closed"}
    browser = browser_of(service)
    browser.sign_in()
    token, lake = browser.make_token(), ["--lake", str(service.lake.folder)]
    (account,) = [each for each in list_tokens(service.database) if each.owner.name == "Closed" and not each.parent]
    assert (account.scopes, account.most_runs) == ("account contribute", 0)
    app(["tokens", "revoke", account.id, *lake], standalone_mode=False)
    assert Sender(service.client, token).send("GET", "/v1/submissions").status_code == 401
    assert browser.ask("GET", "/tokens").status_code == 303
    refused = browser_of(service).sign_in()
    assert (refused.status_code, "has closed the account" in refused.text) == (403, True)


def test_operator_raises_the_quota_of_a_token(
    service: Service, browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    browser.sign_in("oidc")
    token, lake = browser.make_token(), ["--lake", str(service.lake.folder)]
    app(["tokens", "quota", token[4:16], "--runs", "5000", "--megabytes", "9000", *lake], standalone_mode=False)
    assert capsys.readouterr().out.strip() == "5,000 runs, 4,000 segments, 9,000 megabytes, 5 megabytes of documents"
    (row,) = [each for each in list_tokens(service.database) if each.id == token[4:16]]
    assert (row.most_runs, row.most_segments, row.most_bytes) == (5000, 4000, 9_000_000_000)
    with pytest.raises(LossLakeError, match="which is of browsers"):
        app(["tokens", "quota", str(row.parent), "--runs", "1", *lake], standalone_mode=False)


def test_many_sign_ins_leave_one_account_one_token_and_few_sessions(service: Service, provider: LocalProvider) -> None:
    provider.subject = {"sub": "0000-0002-9999-9998", "name": "Again"}
    for _ in range(22):
        browser_of(service).sign_in()

    def count(session: Session) -> tuple[int, int]:
        token = (
            select(Token.id).join(Contributor, Contributor.id == Token.contributor).where(Contributor.name == "Again")
        )
        sessions = select(func.count()).select_from(PageSession).where(PageSession.token.in_(token))
        return len(session.scalars(token).all()), session.scalar(sessions) or 0

    assert service.database.read(count) == (1, 20)


def test_refused_token_says_where_to_sign_in(service: Service) -> None:
    document = service.client.get("/v1/submissions", headers={"host": "localhost"}).json()
    assert document["sign_in"] == f"{HERE}/sign-in"
    assert document["detail"].endswith(f"(sign in at {HERE}/sign-in to make one)")


def test_push_without_a_token_says_where_to_sign_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_lake: Lake
) -> None:
    monkeypatch.delenv("LOSSLAKE_TOKEN", raising=False)
    SpooledRun().write(tmp_path / "runs")
    with running_service(empty_lake, **registered("orcid"), public_url="http://localhost:8010") as service:
        command = ["push", str(tmp_path / "runs"), "--url", service.url]
        with pytest.raises(LossLakeError, match="to make one, then set LOSSLAKE_TOKEN") as error:
            app(command, standalone_mode=False)
    page = "http://localhost:8010/sign-in"
    assert str(error.value) == (
        f"there is no token: sign in at {page} to make one, then set LOSSLAKE_TOKEN, or give a file with --token-file"
    )
    with pytest.raises(LossLakeError, match="there is no token: set LOSSLAKE_TOKEN, or give a file"):
        app(command, standalone_mode=False)  # the service has ended


def test_page_to_sign_in_offers_the_providers_beside_the_token(service: Service, browser: Browser) -> None:
    page = browser.ask("GET", "/sign-in?next=/tokens").text
    links = re.findall(r'href="(/sign-in/\w+\?next=[^"]*)">Sign in with ([^<]*)<', page)
    assert links == [
        ("/sign-in/orcid?next=/tokens", "ORCID"),
        ("/sign-in/github?next=/tokens", "GitHub"),
        ("/sign-in/oidc?next=/tokens", "Our university"),
    ]
    assert 'name="token"' in page


def test_without_a_provider_nothing_of_it_exists(empty_lake: Lake) -> None:
    with serving(empty_lake) as plain:
        page = plain.client.get("/sign-in").text
        assert "Sign in with" not in page
        assert "/tokens" not in page + plain.client.get("/contribute").text
        for path in ("/tokens", "/sign-in/orcid", "/sign-in/github/callback?code=a&state=b"):
            answer = plain.client.get(path, headers={"accept": "application/json"}, follow_redirects=False)
            assert (answer.status_code, answer.json()["type"].rpartition(":")[2]) == (404, "unknown-path"), path
        document = plain.client.get("/v1/submissions").json()
    assert "sign_in" not in document
    assert "sign in" not in document["detail"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"public_url": ""}, "signing in needs public_url"),
        ({"public_url": "http://losslake.example"}, "isn't https://, which signing in needs"),
        ({"orcid_client_id": ""}, "orcid_client_id is missing: ORCID gives it"),
        ({"orcid_client_secret": ""}, "orcid_client_secret and orcid_client_secret_file: neither is set"),
        ({"orcid_client_secret_file": "x"}, "both are set"),
        ({"orcid_client_secret": "", "orcid_client_secret_file": "/nowhere/x"}, "/nowhere/x, can't be read: No such"),
        ({"orcid_client_secret": "two\nlines"}, "has characters that no secret has"),
        ({"oidc_issuer": "http://login.example"}, "oidc_issuer = 'http://login.example' isn't https://"),
        ({"oidc_issuer": "https://user@login.example"}, "isn't a URL of a host"),
        ({"oidc_client_id": "x"}, "oidc_issuer is missing"),
    ],
)
def test_settings_that_don_t_fit_are_refused_in_one_line(
    empty_lake: Lake, changes: dict[str, str], message: str
) -> None:
    values = {"lake": str(empty_lake), "port": 0, "public_url": HERE, **registered("orcid"), **changes}
    with pytest.raises(LossLakeError, match=re.escape(message)) as error:
        serve(Settings.model_validate(values))
    assert CLIENT_SECRET not in str(error.value)
    assert "\n" not in str(error.value)


def test_secret_comes_from_a_file_and_is_shown_nowhere(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{CLIENT_SECRET}\n")
    values = {"orcid_client_id": CLIENT_ID, "orcid_client_secret_file": str(file), "public_url": HERE}
    provider = providers.read_providers(Settings.model_validate(values))["orcid"]
    assert provider.client_secret == CLIENT_SECRET
    assert CLIENT_SECRET not in repr(provider)
    assert CLIENT_SECRET not in repr(Settings.model_validate({"orcid_client_secret": CLIENT_SECRET}))
