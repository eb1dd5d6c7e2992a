"""The page at `/`: what this is, how much of it there is, and where to begin. It loads nothing from elsewhere."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from schema.database import Release
from service.examples import Example, example, example_paths
from service.release_view import ReleaseView
from service.web.html import Html, element, fill, joined, page

_RECENT = 5
_PLAIN = re.compile(r"[A-Za-z0-9_/.-]+")


def root_page(view: ReleaseView, releases: Sequence[Release], address: str, json_ld: str = "") -> str:
    """The page as HTML.

    releases: all of the lake, newest first. address: of the service. json_ld: metadata of the release, for search
    engines.
    """
    release = next(each for each in releases if each.number == view.number)
    paths = example_paths(view)
    found = example(view)
    main = fill(
        "root.html",
        address=address,
        release=release.number,
        created_at=f"{release.created_at:%Y-%m-%d %H:%M} UTC",
        counts=_counts(view, release),
        examples=joined(element("li", element("a", element("code", path), href=path)) for path in paths),
        first=paths[0],
        statement=_statement(found),
        dataset=shlex.quote(found.workload.dataset) if found else "mnist",
        releases=joined(_row(each) for each in releases[:_RECENT]),
    )
    return page("LossLake", main, json_ld)


def _statement(found: Example | None) -> str:
    """An SQL statement that can stand between double quotes in a shell, whatever the metric is called."""
    if found is None or not _PLAIN.fullmatch(found.metric):
        return "FROM workloads"
    return f"FROM result_at('{found.metric}', {found.target!r})"


def _counts(view: ReleaseView, release: Release) -> Html:
    counts = {
        "workloads": len(view.workloads),
        "studies": release.n_studies,
        "trials": release.n_trials,
        "measurements": release.n_measurements,
    }
    return joined(
        element("div", joined([element("dt", name), element("dd", f"{count:,}")])) for name, count in counts.items()
    )


def _row(release: Release) -> Html:
    return fill(
        "release.html",
        release=release.number,
        created_at=f"{release.created_at:%Y-%m-%d %H:%M} UTC",
        n_trials=f"{release.n_trials:,}",
        notes=release.notes or "",
    )
