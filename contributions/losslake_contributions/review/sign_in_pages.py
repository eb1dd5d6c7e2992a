"""The pages to sign in and out, with a token or a provider, and that of a person's own tokens."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from losslake_contributions.people.accounts import list_own_tokens, make_token, revoke_own_token
from losslake_contributions.people.links import REVIEWS, Links
from losslake_contributions.people.providers import SIGN_IN
from losslake_contributions.people.requests import find_identity, in_thread
from losslake_contributions.people.sessions import HOURS, sign_in, sign_out
from losslake_contributions.people.sign_ins import SignIns
from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.review.draft_pages import HOME
from losslake_contributions.review.site import COOKIE, PRIVATE, only_cookie, page, read_form, signed_in, to_sign_in
from losslake_contributions.store.database import Database

TOKENS = "/tokens"
_WITH_A_TOKEN = "you have signed in with a token: sign in with a provider to make and see tokens"
# The address of the answer has a code in it, which no page that follows may learn.
_ANSWERED = {**PRIVATE, "Referrer-Policy": "no-referrer"}


def add_sign_in(router: APIRouter, database: Database, links: Links, sign_ins: SignIns) -> None:
    """Add the pages to sign in with a token, and out."""
    sign_in_page = partial(_sign_in_page, sign_ins)

    @router.get(SIGN_IN, include_in_schema=False)
    async def get_sign_in(request: Request) -> Response:
        return sign_in_page(following=_within(request.query_params.get("next", "")))

    @router.post(SIGN_IN, include_in_schema=False)
    async def post_sign_in(request: Request) -> Response:
        form = await read_form(request)
        token, following = form.get("token", "").strip(), _within(form.get("next", ""))
        try:
            identity = await find_identity(database, f"Bearer {token}")
        except ContributionError as error:
            trouble = str(error) if token.startswith("llc_") else "a token begins with llc_: copy it again"
            return sign_in_page(401, following, trouble)
        response = RedirectResponse(following, 303, PRIVATE)
        _set_session(response, await in_thread(sign_in, database, identity.token), links.base(request))
        return response

    @router.post("/sign-out", include_in_schema=False)
    async def post_sign_out(request: Request) -> Response:
        await read_form(request)
        await in_thread(sign_out, database, request.cookies.get(COOKIE, ""))
        response = RedirectResponse(HOME, 303, PRIVATE)
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return response


def add_providers(router: APIRouter, links: Links, sign_ins: SignIns) -> None:
    """Add the routes that lead to providers, and to which these lead back.

    Beginning is a link, not a form: the policy of pages lets forms lead to this service only.
    """
    for name in sign_ins.providers:
        router.add_api_route(f"{SIGN_IN}/{name}", partial(_begin, sign_ins, name), include_in_schema=False)
        finish = partial(_finish, sign_ins, links, name)
        router.add_api_route(f"{SIGN_IN}/{name}/callback", finish, include_in_schema=False)


async def _begin(sign_ins: SignIns, name: str, request: Request) -> Response:
    following = _within(request.query_params.get("next", ""), TOKENS)
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        # A page elsewhere mustn't end the session of a reviewer, in whose place a provider may answer at once.
        return _sign_in_page(sign_ins, following=following)
    try:
        url, cookie = await sign_ins.begin(name, following)
    except ContributionError as error:
        return _sign_in_page(sign_ins, error.status, following, str(error))
    response = RedirectResponse(url, 303, _ANSWERED)
    options = {"secure": sign_ins.is_secure, "httponly": True, "path": "/"}
    # Not Strict: the provider's answer comes from its site.
    response.set_cookie(sign_ins.cookie, cookie, 600, samesite="lax", **options)  # type: ignore[arg-type]
    return response


async def _finish(sign_ins: SignIns, links: Links, name: str, request: Request) -> Response:
    origin = request.client.host if request.client is not None else "unknown"
    try:
        answer = _answer(request)
        pending = await sign_ins.resume(name, only_cookie(request, sign_ins.cookie), answer)
    except ContributionError as error:
        return _failed(sign_ins, REVIEWS, error)
    try:
        session = await sign_ins.finish(name, pending, answer, origin)
    except ContributionError as error:
        response = _failed(sign_ins, pending.following, error)
    else:
        # A redirect would still be the provider's, without the cookie, which is Strict: the page leads on itself.
        response = page("signed_in.html", "Signed in", SIGN_IN, None, following=pending.following)
        _set_session(response, session, links.base(request))
    response.headers.update(_ANSWERED)
    response.delete_cookie(sign_ins.cookie, secure=sign_ins.is_secure, httponly=True, samesite="lax")
    return response


def _answer(request: Request) -> dict[str, str]:
    """Return the parameters of a provider's answer. Raises ContributionError for one that is given twice."""
    query = request.query_params
    if len(query) < len(query.multi_items()):
        raise ContributionError("sign-in-failed", "the answer says something twice: begin again")
    return dict(query)


def _failed(sign_ins: SignIns, following: str, error: ContributionError) -> Response:
    response = _sign_in_page(sign_ins, error.status, following, str(error))
    response.headers.update(_ANSWERED)
    return response


def add_tokens(router: APIRouter, database: Database, links: Links, sign_ins: SignIns) -> None:
    """Add the page on which a person who has signed in with a provider makes, sees and revokes tokens."""

    async def tokens_page(request: Request, identity: Identity, code: int = 200, **content: object) -> Response:
        rows = await in_thread(list_own_tokens, database, identity)
        values = {"trouble": "", "token": "", "rows": rows, "limits": sign_ins.limits, "base": links.base(request)}
        return page("tokens.html", "Your tokens", TOKENS, identity, code, **{**values, **content})

    @router.get(TOKENS, include_in_schema=False)
    async def get_tokens(request: Request) -> Response:
        identity = await signed_in(request, database)
        if identity is None:
            return to_sign_in(request)
        if not identity.has_account:
            return _sign_in_page(sign_ins, 403, TOKENS, _WITH_A_TOKEN)
        return await tokens_page(request, identity)

    @router.post(TOKENS, include_in_schema=False)
    async def post_token(request: Request) -> Response:
        return await change(request, None)

    @router.post(f"{TOKENS}/{{token}}/revoke", include_in_schema=False)
    async def post_revocation(request: Request, token: str) -> Response:
        return await change(request, token)

    async def change(request: Request, revoked: str | None) -> Response:
        """Make a token, or revoke one, and show the page."""
        await read_form(request)
        identity = await signed_in(request, database)
        if identity is None:
            return to_sign_in(request)
        if not identity.has_account:
            return _sign_in_page(sign_ins, 403, TOKENS, _WITH_A_TOKEN)
        try:
            if revoked is None:
                token = await in_thread(make_token, database, identity, sign_ins.limits)
                return await tokens_page(request, identity, token=token)
            await in_thread(revoke_own_token, database, identity, revoked)
        except ContributionError as error:
            return await tokens_page(request, identity, error.status, trouble=str(error))
        return RedirectResponse(TOKENS, 303, PRIVATE)


def _sign_in_page(sign_ins: SignIns, code: int = 200, following: str = REVIEWS, trouble: str = "") -> Response:
    values = {"providers": sign_ins.titles, "next": following, "trouble": trouble}
    return page("sign_in.html", "Sign in", SIGN_IN, None, code, **values)


def _set_session(response: Response, cookie: str, base: str) -> None:
    is_secure = base.startswith("https://")
    response.set_cookie(COOKIE, cookie, HOURS * 3600, secure=is_secure, httponly=True, samesite="strict")


def _within(path: str, default: str = REVIEWS) -> str:
    """Return a path of this site to go on to; the default for anything else."""
    is_path = path.startswith(f"{REVIEWS}/") and "//" not in path and "\\" not in path and path.isprintable()
    return path if is_path or path in (REVIEWS, TOKENS) else default
