"""The addresses of pages: what is looked at is the path, how is the query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import parse_qsl, quote, urlencode

from losslake_schema.names import Study, Trial, Workload

Query = Sequence[tuple[str, str]]


def with_query(path: str, query: Iterable[tuple[str, object]]) -> str:
    """A path with a query behind it; what is None is left out, and a list is given as often as it has values."""
    each = ((name, value if isinstance(value, list | tuple) else [value]) for name, value in query)
    given = [(name, str(value)) for name, values in each for value in values if value is not None]
    return f"{path}?{urlencode(given, safe='/', quote_via=quote)}" if given else path


def page_of(what: Workload | Study | Trial) -> str:
    """The path of the page about a workload, a study or a trial."""
    folder = {Workload: "workloads", Study: "studies", Trial: "trials"}[type(what)]
    return f"/{folder}/{quote(str(what), safe='/')}"


def without_release(url: str) -> str:
    """The same page of whatever release is the newest."""
    path, _, query = url.partition("?")
    return with_query(path, [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != "release"])


def with_release(url: str, release: int) -> str:
    """The same page of a release by its number, where it stays as it is."""
    plain = without_release(url)
    return f"{plain}{'&' if '?' in plain else '?'}release={release}"
