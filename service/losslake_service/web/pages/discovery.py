"""The documents by which others find what is new and what there is: an Atom feed, sitemaps, robots.txt and llms.txt.

Atom is RFC 4287; ids are made from the digests of releases, so that they stay when the service gets another address.
Sitemaps are those of https://www.sitemaps.org/protocol.html, llms.txt is that of https://llmstxt.org.
URLs have the service's public URL, else the host of the request, which the middleware `AllowedHosts` has checked.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain, islice, pairwise
from uuid import NAMESPACE_URL, uuid5
from xml.etree import ElementTree

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from losslake.lake.lake import Lake
from losslake.lake.readme_and_licences import AUTHORS
from losslake.questions.questions import QUESTIONS
from losslake.questions.release.changes import changes_in_words, release_changes
from losslake.questions.release.releases import Releases
from losslake.questions.release.view import ReleaseView
from losslake_schema.errors import LakeBroken
from losslake_schema.names import Study, Workload
from losslake_schema.package_files import read_text
from losslake_schema.release import Release
from losslake_service.bounded_cache import BoundedCache
from losslake_service.entity_tags import AN_HOUR, digest_tag, not_modified_response
from losslake_service.files.release_documents import base_url
from losslake_service.routes.reading import add_undocumented_route
from losslake_service.web.bare_page import SITE
from losslake_service.web.documentation.site_documents import by_name, groups
from losslake_service.web.reference import page_address
from losslake_service.web.site_pages import site_pages
from losslake_service.web.templates import page_path

FEED = "/releases.atom"
RELEASES_IN_FEED = 50
# The protocol's limit of URLs; its other limits are 50 MB in a file, and 2,048 characters in a URL.
URLS_IN_SITEMAP = 50_000
_MOST_LETTERS = 2_047
_ATOM, _SITEMAP = "http://www.w3.org/2005/Atom", "http://www.sitemaps.org/schemas/sitemap/0.9"
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_sitemaps: BoundedCache[bytes] = BoundedCache(8)


def feed(lake: Lake, address: str) -> str:
    """Return the Atom feed of the newest releases. address: of the service, without a slash at the end."""
    releases = lake.releases(include_unlisted=True)
    listed = [release for release in releases if release.unlisted_at is None]
    root = ElementTree.Element("feed", {"xmlns": _ATOM})
    _add(root, "id", _urn(releases[-1], "feed"))
    _add(root, "title", f"{SITE}: releases")
    _add(root, "updated", _time(listed[0].created_at))
    ElementTree.SubElement(root, "link", {"rel": "self", "type": "application/atom+xml", "href": address + FEED})
    ElementTree.SubElement(root, "link", {"rel": "alternate", "type": "text/html", "href": f"{address}/releases"})
    _add(ElementTree.SubElement(root, "author"), "name", AUTHORS)
    for release, before in islice(pairwise([*listed, None]), RELEASES_IN_FEED):
        assert release is not None
        entry = ElementTree.SubElement(root, "entry")
        _add(entry, "id", _urn(release, "release"))
        _add(entry, "title", f"Release {release.number}")
        _add(entry, "updated", _time(release.created_at))
        _add(entry, "published", _time(release.created_at))
        page = {"rel": "alternate", "type": "text/html", "href": f"{address}/releases/{release.number}"}
        ElementTree.SubElement(entry, "link", page)
        _add(entry, "summary", _summary(lake, before, release))
    return _text(root)


def sitemap(view: ReleaseView, address: str, part: int | None = None) -> str:
    """Return a sitemap of all pages; beyond 50,000 an index of sitemaps. part: the one of that number, from 1.

    Raises LookupError if there is no such part.
    """
    documents = [each.address for name, each in by_name().items() if name]
    first = 0 if part is None else part - 1
    n_parts = -(-_n_pages(view, documents) // URLS_IN_SITEMAP)
    if not 0 <= first < n_parts:
        raise LookupError(part)
    if part is None and n_parts > 1:
        return _locations("sitemapindex", "sitemap", (f"{address}/sitemap-{n}.xml" for n in range(1, n_parts + 1)))
    studies = (Study(facts.workload, size) for facts in view.listed.values() for size in facts.batch_sizes)
    every: Iterator[str | Workload | Study] = chain(_pages(), documents, view.listed, studies)
    pages = islice(every, first * URLS_IN_SITEMAP, (first + 1) * URLS_IN_SITEMAP)
    urls = (address + (page if isinstance(page, str) else page_path(page)) for page in pages)
    return _locations("urlset", "url", (url for url in urls if len(url) <= _MOST_LETTERS))


def _pages() -> list[str]:
    return [page.path for page in site_pages()]


def _n_pages(view: ReleaseView, documents: Sequence[str]) -> int:
    n_studies = sum(len(facts.batch_sizes) for facts in view.listed.values())
    return len(_pages()) + len(documents) + len(view.listed) + n_studies


def llms(address: str) -> str:
    """Return what the service has and how to ask it, as Markdown for language models. address: as for `feed`."""
    about = read_text("losslake_service.web", "llms.md")
    lines = [f"- [{each.path}]({address}{page_address(each.path)}): {each.doc}" for each in QUESTIONS]
    for group in groups():
        lines += ["", f"## {group.title}", ""]
        lines += [f"- [{text}]({address}{document.address})" for text, document in group.documents]
    return about.replace("$address", address) + "\n".join([*lines, ""])


def _locations(kind: str, entry: str, urls: Iterable[str]) -> str:
    root = ElementTree.Element(kind, {"xmlns": _SITEMAP})
    for url in urls:
        _add(ElementTree.SubElement(root, entry), "loc", url)
    return _text(root)


def _summary(lake: Lake, before: Release | None, release: Release) -> str:
    try:
        changes = release_changes(lake, before, release)
    except LakeBroken:
        changes = None
    size = f"{release.n_trials:,} trials in {release.n_studies:,} studies."
    return f"Changed: {changes_in_words(changes)}. {size} {release.notes}".strip()


def _urn(release: Release, what: str) -> str:
    return uuid5(NAMESPACE_URL, f"losslake:{what}:{release.number}:{release.manifest_sha256}").urn


def _time(when: datetime) -> str:
    return f"{when:%Y-%m-%dT%H:%M:%SZ}"


def _add(parent: ElementTree.Element, name: str, text: str) -> None:
    ElementTree.SubElement(parent, name).text = _NOT_IN_XML.sub("\ufffd", text)


def _text(root: ElementTree.Element) -> str:
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode")


def add_discovery(router: APIRouter, releases: Releases, public_url: str) -> None:
    """Add the routes."""

    async def get_feed(request: Request) -> Response:
        """Return the Atom feed of releases."""
        await releases.view_async()
        address = base_url(request, public_url)
        text = await run_in_threadpool(feed, releases.lake, address)
        return _respond(request, text.encode(), "application/atom+xml; charset=utf-8")

    async def get_sitemap(request: Request) -> Response:
        """Return the sitemap, or the part of it."""
        part, view = request.path_params.get("part"), await releases.view_async()
        address = base_url(request, public_url)

        def make() -> bytes:
            return sitemap(view, address, part).encode()

        try:
            body = await run_in_threadpool(_sitemaps.get, (view.digest, address, part), make)
        except LookupError:
            raise HTTPException(404) from None
        return _respond(request, body, "application/xml; charset=utf-8")

    async def get_llms(request: Request) -> Response:
        """Return llms.txt."""
        return _respond(request, llms(base_url(request, public_url)).encode(), "text/markdown; charset=utf-8")

    async def get_robots(request: Request) -> Response:
        """Return robots.txt, which names the sitemap."""
        text = f"User-agent: *\nAllow: /\nSitemap: {base_url(request, public_url)}/sitemap.xml\n"
        return _respond(request, text.encode(), "text/plain; charset=utf-8")

    routes = {
        FEED: get_feed,
        "/sitemap.xml": get_sitemap,
        "/sitemap-{part:int}.xml": get_sitemap,
        "/robots.txt": get_robots,
        "/llms.txt": get_llms,
    }
    for path, endpoint in routes.items():
        add_undocumented_route(router, path, endpoint)


def _respond(request: Request, body: bytes, media_type: str) -> Response:
    headers = {"etag": digest_tag(hashlib.sha256(body).hexdigest()), "cache-control": AN_HOUR, "vary": "Host"}
    unmodified = not_modified_response(request.headers, headers)
    return unmodified or Response(body, headers=headers, media_type=media_type)
