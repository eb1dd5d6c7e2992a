"""Parts of all pages of the contribution service: rendering, who is signed in, forms, headers, problems."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl, quote

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment
from starlette.datastructures import MutableHeaders
from starlette.types import Message, Scope, Send

from losslake_contributions.people.providers import SIGN_IN
from losslake_contributions.people.requests import act_as, in_thread
from losslake_contributions.people.sessions import find_session
from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.store.database import Database
from losslake_schema.quantities import counted
from losslake_service.web.bare_page import SITE, accepts_html
from losslake_service.web.templates import environment_of

COOKIE = "losslake_contributor"
_TEMPLATES = Path(__file__).parents[1] / "templates"
_LARGEST_FORM, _MOST_FIELDS = 200_000, 20
_UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60))
PRIVATE = {"Cache-Control": "no-store", "X-Robots-Tag": "noindex", "Referrer-Policy": "same-origin"}
# Below a link that expires: no cache keeps it, no search engine lists it, no site learns the link.
_BELOW_LINKS = {"Cache-Control": "no-store", "X-Robots-Tag": "noindex", "Referrer-Policy": "no-referrer"}


def page(
    template: str, title: str, here: str, identity: Identity | None, code: int = 200, **content: object
) -> HTMLResponse:
    """Return a page. here: the path that the navigation marks."""
    values = {"here": here, "identity": identity, **content}
    return HTMLResponse(_render(template, title, f"{title}: contributions to {SITE}.", values), code, PRIVATE)


def _render(template: str, title: str, description: str, values: Mapping[str, object]) -> str:
    about = {"title": title, "description": description, "styles": ()}
    return _environment().get_template(template).render(site=SITE, about=about, page=values, request=None)


def private(response: Response) -> Response:
    """Return a response below a link that expires, with its headers."""
    response.headers.update(_BELOW_LINKS)
    return response


def as_private(send: Send) -> Send:
    """Return a `send` whose responses get the same headers; one that no cache keeps may have its own."""

    async def send_private(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=[*message["headers"]])
            for name, value in _BELOW_LINKS.items():
                if "no-store" not in headers.get(name, ""):
                    headers[name] = value
            message = {**message, "headers": headers.raw}
        await send(message)

    return send_private


def problem_page(scope: Scope, document: Mapping[str, object]) -> str | None:
    """Return the page of a problem; None if the client doesn't accept HTML. document: the problem document."""
    if not accepts_html(scope):
        return None
    values = {"here": "", "identity": None, **document}
    return _render("trouble.html", str(document["title"]), str(document["detail"]), values)


async def signed_in(request: Request, database: Database) -> Identity | None:
    """Return who has signed in; None for nobody, also if the session or its token has ended since."""
    cookie = only_cookie(request, COOKIE)
    identity = await in_thread(find_session, database, cookie, kind="authentication") if cookie is not None else None
    if identity is not None:
        act_as(identity, request)
    return identity


def only_cookie(request: Request, name: str) -> str | None:
    """Return the cookie of a name; None without one, and for several, of which another host may have planted one."""
    cookies = ";".join(request.headers.getlist("cookie")).split(";")
    values = [value.strip() for key, _, value in (each.partition("=") for each in cookies) if key.strip() == name]
    return values[0] if len(values) == 1 else None


def to_sign_in(request: Request) -> RedirectResponse:
    """Return the way to the page to sign in, which leads back to the requested one."""
    return RedirectResponse(f"{SIGN_IN}?next={quote(request.url.path)}", 303, PRIVATE)


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form that a page of this site has sent. Raises ContributionError for any other."""
    origin = request.headers.get("origin")
    # A browser says where a form is from; its cookie is SameSite=Strict besides.
    if request.headers.get("sec-fetch-site", "same-origin") != "same-origin" or (
        origin is not None and origin.partition("://")[2] != request.headers.get("host")
    ):
        raise ContributionError(
            "forbidden", "the form is not from a page of this site: open the page again, and send it"
        )
    body = await request.body()
    try:
        if len(body) > _LARGEST_FORM:
            raise ValueError
        text = body.decode("utf-8")
        return dict(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise ContributionError("bad-document", "the form can't be read: open the page again, and send it") from None


def age(since: datetime) -> str:
    """Return how long ago a time was: 3 days."""
    seconds = max(0.0, (datetime.now(UTC) - since).total_seconds())
    return in_words(seconds)


def in_words(seconds: float) -> str:
    """Return a duration in its largest unit: 3 days."""
    for unit, length in _UNITS:
        if seconds >= length:
            return counted(int(seconds // length), unit)
    return "less than a minute"


def steps(number: int | None) -> str:
    """Return a number of steps; a dash for None."""
    return "\u2013" if number is None else f"{number:,}"


@cache
def _environment() -> Environment:
    environment = environment_of(_TEMPLATES)
    environment.filters |= {each.__name__: each for each in (age, steps)}
    return environment
