"""Rendering of templates: values are escaped, and an undefined name is an error.

Filters for numbers, sentences and addresses. The path of a page says what it shows, its query how.
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

from losslake.analysis.measured_levels import stated
from losslake.questions.release.changes import changes_in_words
from losslake.questions.trials.batch_size_words import joined
from losslake_schema.names import Study, Trial, Workload
from losslake_schema.quantities import amount, capitalized, counted, plural
from losslake_service.web.documentation import site_documents
from losslake_service.web.site_pages import navigation
from losslake_service.web.static_files import STATIC_FILES

Query = Sequence[tuple[str, str]]
_FOLDER = Path(__file__).parent / "templates"


def prose(text: str) -> Markup:
    """Return a sentence as HTML, with `names` in backquotes as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts))


def with_query(path: str, query: Iterable[tuple[str, object]], safe: str = "/") -> str:
    """Return a path with a query, as `query_pairs` has it."""
    pairs = query_pairs(query)
    return f"{path}?{urlencode(pairs, safe=safe, quote_via=quote)}" if pairs else path


def query_pairs(query: Iterable[tuple[str, object]]) -> Query:
    """Return the names and values of a query as texts, without values that are None. A list repeats its parameter."""
    each = ((name, value if isinstance(value, list | tuple) else [value]) for name, value in query)
    return [(name, str(value)) for name, values in each for value in values if value is not None]


def page_path(what: Workload | Study | Trial) -> str:
    """Return the path of the page about a workload, a study or a trial."""
    folder = {Workload: "workloads", Study: "studies", Trial: "trials"}[type(what)]
    return f"/{folder}/{quote(str(what), safe='/')}"


def subject_page(query: Query, more: Query = ()) -> str:
    """Return the path of the page about what the parameters of an answer name: a trial, study, workload, or several.

    more: parameters of the page of a workload.
    """
    values = values_by_name(query)
    places = {name: values.get(name, []) for name in ("trial", "study", "workload", "batch_size")}
    state = [(name, values.get(name)) for name in ("metric", "target", "direction", "release")]
    if len(places["trial"]) == 1:
        return with_query(f"/trials/{quote(places['trial'][0], safe='/')}", state)
    studies = dict.fromkeys([*places["study"], *(trial.rpartition("/")[0] for trial in places["trial"])])
    workloads = dict.fromkeys([*places["workload"], *(study.rpartition("/")[0] for study in studies)])
    if len(workloads) == 1 and len(places["batch_size"]) == 1:
        studies = {f"{next(iter(workloads))}/{places['batch_size'][0]}": None}
    if len(studies) == 1:
        return with_query(f"/studies/{quote(next(iter(studies)), safe='/')}", state)
    if len(workloads) == 1:
        of_workload = [*state, ("where", values.get("where")), *more]
        return with_query(f"/workloads/{quote(next(iter(workloads)), safe='/')}", of_workload)
    return with_query("/compare", [("workload", list(workloads)), *state, ("where", values.get("where"))])


def values_by_name(query: Query) -> dict[str, list[str]]:
    """Return the values of each parameter of a query."""
    values: dict[str, list[str]] = {}
    for name, value in query:
        values.setdefault(name, []).append(value)
    return values


def without_release(url: str) -> str:
    """Return the address of the same page in the newest release."""
    path, _, query = url.partition("?")
    return with_query(path, [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != "release"])


def with_release(url: str, release: int) -> str:
    """Return the permanent address of the same page in a release."""
    plain = without_release(url)
    return f"{plain}{'&' if '?' in plain else '?'}release={release}"


def render(template: str, **values: object) -> str:
    """Render a template of this package."""
    return _environment().get_template(template).render(**values)


def count(number: int) -> str:
    """Return an integer with thousands separators: 71,638,836."""
    return f"{number:,}"


def size_text(size: int | str) -> str:
    """Return a batch size with thousands separators, or a word for one that changes as it is."""
    return size if isinstance(size, str) else count(size)


def significant(number: float | None) -> str:
    """Return a number to four significant digits; a dash for None."""
    return "\u2013" if number is None else f"{number:,.4g}" if abs(number) < 1e4 else f"{number:,.0f}"


def in_unit(batch_size: int, unit: str | None) -> str:
    """Return a batch size with what it counts, unless that is examples."""
    return f"{batch_size:,}" if unit in (None, "examples") else f"{batch_size:,} {unit}"


def first_few(parts: Sequence[str], most: int) -> str:
    """Return the first parts as in a sentence, and how many more there are: a, b and 2 more."""
    return joined([*parts[:most], *([f"{len(parts) - most} more"] if len(parts) > most else [])])


def ratio(number: float) -> str:
    """Return a ratio to three significant digits."""
    return f"{number:.3g}" if number < 1000 else f"{number:,.0f}"


def percent(share: float) -> str:
    """Return a share as a percentage, 100% for all only: 20%."""
    text = f"{100 * share:.3g}%"
    return "over 99.9%" if text == "100%" and share < 1 else text


def moment(when: datetime) -> str:
    """Return a time to the minute, in UTC."""
    return f"{when:%Y-%m-%d %H:%M} UTC"


def in_script(json_text: str) -> Markup:
    """Return JSON for a script element, with every `<` escaped."""
    return Markup(json_text.replace("<", "\\u003c"))


@cache
def digest() -> str:
    """Return what distinguishes templates, static files and documents from those of any other version."""
    digest = hashlib.sha256(f"{STATIC_FILES.digest} {site_documents.digest()}".encode())
    for path in sorted(_FOLDER.rglob("*.html")):
        digest.update(f"{path.name}\0{path.read_text('utf-8')}\0".encode())
    return digest.hexdigest()[:16]


@cache
def _environment() -> Environment:
    return environment_of()


def environment_of(*folders: Path) -> Environment:
    """Return an environment for the templates of these folders, which may extend those of this package."""
    environment = Environment(
        loader=FileSystemLoader([*folders, _FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (
        capitalized, count, counted, plural, significant, amount, ratio, percent, moment, in_script, prose,
        with_release, without_release,
    )  # fmt: skip
    environment.filters |= {each.__name__: each for each in filters} | {
        "path_of": page_path,
        "size": size_text,
        "in_words": changes_in_words,
    }
    environment.globals |= {
        "static": STATIC_FILES.address,
        "documentation": site_documents.groups,
        "navigation": navigation,
        "stated": stated,
    }
    return environment
