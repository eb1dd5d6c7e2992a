"""A folder as a page of links, for people and for `wget -r`. It loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from urllib.parse import quote

from service.bulk.release_files import Entry

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 3rem auto; padding: 0 1rem; }}
a {{ overflow-wrap: anywhere; }}
td:last-child {{ text-align: right; white-space: nowrap; vertical-align: top; padding-left: 2rem; }}
</style>
</head>
<body>
<h1>{title}</h1>
<table>
{rows}
</table>
</body>
</html>
"""


def listing(title: str, entries: Iterable[Entry], has_parent: bool) -> str:
    """The page; links are relative, names are shown as they are, percent signs included."""
    rows = [_row("../", "../", None)] if has_parent else []
    rows += [_row(f"./{quote(entry.name, safe='/=')}", entry.name, entry.size) for entry in entries]
    return _PAGE.format(title=escape(title), rows="\n".join(rows))


def _row(link: str, name: str, size: int | None) -> str:
    shown = "" if size is None else f"{size:,} bytes"
    return f'<tr><td><a href="{escape(link)}">{escape(name)}</a></td><td>{shown}</td></tr>'
