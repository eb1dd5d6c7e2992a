"""The page at `/`: what this is, how much of it there is, and where to begin. It loads nothing from elsewhere."""

from __future__ import annotations

from html import escape

from schema.database import Release
from service.examples import example_paths
from service.release_view import ReleaseView

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>LossLake</title>
<style>
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 45rem; margin: 3rem auto; padding: 0 1rem; }}
code, a {{ overflow-wrap: anywhere; }}
</style>
</head>
<body>
<h1>LossLake</h1>
<p>A database of training-curve measurements. It answers how many steps a workload takes to a target at each batch size,
and gives the curves behind the answer.</p>
<p>Release {release} of {created_at}: {n_workloads} workloads, {n_studies} studies, {n_trials} trials,
{n_measurements} measurements.</p>
<h2>Try</h2>
<ul>
{examples}
</ul>
<p>Every path and parameter: <a href="/openapi.json">/openapi.json</a>. Also: <a href="/v1/studies">/v1/studies</a>,
<a href="/v1/releases">/v1/releases</a>, <a href="/healthz">/healthz</a>; /v1/trials and /v1/steps-to-target.</p>
</body>
</html>
"""


def root_page(view: ReleaseView, release: Release) -> str:
    """The page as HTML."""
    links = (f'<li><a href="{escape(path)}"><code>{escape(path)}</code></a></li>' for path in example_paths(view))
    return _PAGE.format(
        release=release.number,
        created_at=f"{release.created_at:%Y-%m-%d %H:%M} UTC",
        n_workloads=f"{len(view.workloads):,}",
        n_studies=f"{release.n_studies:,}",
        n_trials=f"{release.n_trials:,}",
        n_measurements=f"{release.n_measurements:,}",
        examples="\n".join(links),
    )
