"""Pages from templates: whatever is filled in is escaped, and a name that isn't given is an error.

What templates write numbers, sentences and addresses with. The path of a page says what it shows, its query how.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from losslake_schema.names import Study, Trial, Workload
from losslake_service.web.static_files import STATIC_FILES

Query = Sequence[tuple[str, str]]
_FOLDER = Path(__file__).parent / "templates"


def prose(text: str) -> Markup:
    """Return a sentence in which `names` stand between backquotes; everything else in it is text."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts))


def with_query(path: str, query: Iterable[tuple[str, object]], safe: str = "/") -> str:
    """Return a path with a query; what is None is left out, and a list is given as often as it has values."""
    each = ((name, value if isinstance(value, list | tuple) else [value]) for name, value in query)
    given = [(name, str(value)) for name, values in each for value in values if value is not None]
    return f"{path}?{urlencode(given, safe=safe, quote_via=quote)}" if given else path


def page_of(what: Workload | Study | Trial) -> str:
    """Return the path of the page about a workload, a study or a trial."""
    folder = {Workload: "workloads", Study: "studies", Trial: "trials"}[type(what)]
    return f"/{folder}/{quote(str(what), safe='/')}"


def without_release(url: str) -> str:
    """Return the same page of whatever release is the newest."""
    path, _, query = url.partition("?")
    return with_query(path, [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != "release"])


def with_release(url: str, release: int) -> str:
    """Return the same page of a release by its number, where it stays as it is."""
    plain = without_release(url)
    return f"{plain}{'&' if '?' in plain else '?'}release={release}"


def rendered(template: str, **given: object) -> str:
    """Return a template of this package with these names filled in."""
    return _environment().get_template(template).render(**given)


def count(number: int) -> str:
    """Return a whole number as people read it: 71,638,836."""
    return f"{number:,}"


def significant(number: float | None) -> str:
    """Return a number to four significant digits; a dash for none."""
    return "\u2013" if number is None else f"{number:,.4g}" if abs(number) < 1e4 else f"{number:,.0f}"


def ratio(number: float) -> str:
    """Return a ratio to three significant digits."""
    return f"{number:.3g}" if number < 1000 else f"{number:,.0f}"


def percent(share: float) -> str:
    """Return a share of 1 in percent: 20%."""
    return f"{100 * share:.3g}%"


def moment(when: datetime) -> str:
    """Return a moment to the minute."""
    return f"{when:%Y-%m-%d %H:%M} UTC"


def in_script(json_text: str) -> Markup:
    """Return JSON as it can stand in a script element, where only `</` and `<!--` mean anything: no `<` is left."""
    return Markup(json_text.replace("<", "\\u003c"))


@cache
def digest() -> str:
    """Return what tells these templates and static files from those of any other version of the program."""
    digest = hashlib.sha256(STATIC_FILES.digest.encode())
    for path in sorted(_FOLDER.rglob("*.html")):
        digest.update(f"{path.name}\0{path.read_text('utf-8')}\0".encode())
    return digest.hexdigest()[:16]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (count, significant, ratio, percent, moment, in_script, prose, with_release, without_release)
    environment.filters |= {each.__name__: each for each in filters} | {"path_of": page_of}
    environment.globals["static"] = STATIC_FILES.address
    return environment
