"""The names of views and macros, and their texts, which are files in `losslake_schema/views`."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from itertools import groupby
from string import Template

from losslake_schema import registry
from losslake_schema.package_files import read_text

# Of the serving files; a change of their views or tables has a new one.
SERVING_VERSION = 21
VIEWS = (
    "collections", "studies", "workloads", "trials", "metrics", "goals", "contributors", "copies", "records",
    "measurements", "trial_resources", "trial_schedules", "flags", "steps_to_target", "steps_to_result",
)  # fmt: skip
MACROS = ("steps_to", "result_at", "pooled_result_at", "best_setting_at", "amounts_to", "amount_at")
_SHARED = re.compile(r"\$(first_hits|best_trials|trial_settings|schedule_facts|examples_per_epoch)\b")
_MATCHES = re.compile(r"\$matches\((\w)\)")
# The batch size, which may be a call, the attributes and the steps.
_EXAMPLES = re.compile(r"\$examples\((coalesce\([\w., ]+\)|[\w.]+), ([\w.]+), ([\w.]+)\)")
_BEYOND_RANGES = re.compile(r"\$beyond_ranges\((\w)\)")


def sql(name: str) -> str:
    """Return the statement of `losslake_schema/views/<name>.sql`.

    `$first_hits` and the other names of _SHARED are replaced by a text that several share: the file of that name
    without its comment and without the lines that are marked for another one; it may name others. `$matches(t)` is
    replaced by the condition of `matches.sql` on the table t, on one line; `$examples(size, attributes, steps)`
    likewise by `examples.sql`; `$beyond_ranges(t)` by branches of a CASE, that of `beyond_range.sql` for each
    registered quantity; `$target_limits` by rows of a metric, the limits of its targets, and these in words.
    """
    return _filled(name, name)


def overridden(place: str, name: str) -> str:
    """Return the statement of `losslake_schema/views/<place>/<name>.sql`, else that of `sql`."""
    is_overridden = resources.files("losslake_schema.views").joinpath(f"{place}/{name}.sql").is_file()
    return _filled(f"{place}/{name}", name) if is_overridden else sql(name)


@cache
def _filled(file: str, name: str) -> str:
    text = _text(file)
    while _SHARED.search(text):
        text = _SHARED.sub(lambda match: _shared_text(match[1], name), text)
    text = _EXAMPLES.sub(lambda match: _examples(name, *match.groups()), text)
    text = text.replace("$target_limits", ", ".join(_target_limits()))
    text = _BEYOND_RANGES.sub(lambda match: " ".join(_beyond_ranges(name, match[1])), text)
    return _MATCHES.sub(lambda match: " ".join(_shared_text("matches", name).replace("$t", match[1]).split()), text)


def _examples(name: str, size: str, attributes: str, steps: str) -> str:
    values = {"size": size, "attributes": attributes, "steps": steps}
    return " ".join(Template(_shared_text("examples", name)).substitute(values).split())


def _beyond_ranges(name: str, table: str) -> Iterator[str]:
    branch = " ".join(_shared_text("beyond_range", name).split())
    for _, of_quantity in groupby(_bounded(), key=lambda metric: metric.quantity):
        metrics = [*of_quantity]
        lowest, highest = metrics[0].target_limits
        values = {
            "t": table,
            "metrics": ", ".join(f"'{metric.name}'" for metric in metrics),
            "lowest": repr(lowest),
            "highest": repr(highest),
            "first": metrics[0].name,
            "range": metrics[0].range_in_words,
        }
        yield Template(branch).safe_substitute(values)


def _target_limits() -> Iterator[str]:
    for metric in _bounded():
        lowest, highest = metric.target_limits
        yield f"('{metric.name}', CAST({lowest!r} AS DOUBLE), CAST({highest!r} AS DOUBLE), '{metric.range_in_words}')"


def _bounded() -> Iterator[registry.Metric]:
    return (metric for metric in registry.metrics().values() if math.isfinite(metric.largest))


def _shared_text(shared: str, name: str) -> str:
    lines = (line.partition("  -- only: ") for line in _text(shared).splitlines() if not line.startswith("--"))
    return "\n".join(line for line, _, only in lines if only in ("", name))


def _text(file: str) -> str:
    return read_text("losslake_schema.views", f"{file}.sql")


def list_of(files: list[str]) -> str:
    """Return paths as a list in SQL; DuckDB parses one text without the common prefix twice as fast as a list."""
    if not files:
        return "[]"
    start = os.path.commonprefix(files)  # noqa: RUF071 by characters: URLs are not paths
    rest = "|".join(file.removeprefix(start) for file in files)  # below the lake, names are percent-encoded
    return f"list_transform(string_split({quoted(rest)}, '|'), lambda path: {quoted(start)} || path)"


def quoted(text: str) -> str:
    """Return a text as a literal in SQL."""
    return "'" + text.replace("'", "''") + "'"
