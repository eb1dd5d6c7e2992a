"""The sentences that pages make of a lake, with their numbers: `python -m bench.sentences --lake DIR [--all]`.

Reads every page of the sitemap but documents, and the comparisons, measures, advice and budgets to which those lead.
Prints each kind of sentence once, with the page of an example: sentences are of one kind if they differ in numbers
and names alone.
`--all` prints every sentence. To be read by someone who knows the data: no number here should need an excuse.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

from bench.servers import Server, service
from losslake.lake.lake import Lake
from losslake.questions.release.known_names import collection_name, display_name
from losslake.questions.release.view import ReleaseView
from losslake_schema.names import Workload

_TEXTS = {"p", "li", "caption", "summary", "dd", "figcaption"}
_UNREAD = {"nav", "form", "pre", "script", "style", "svg", "noscript", "button", "figure", "template"}
_ALONE = {"meta", "link", "br", "hr", "img", "input", "wbr", "source"}
_SKIPPED = ("/docs", "/releases", "/sql", "/papers")
_DRAWN = ("/workloads/", "/compare", "/frontier", "/advice")
_LED_TO = re.compile(r"^/frontier\?|^/workloads/[^?]*\?.*(measure|conclusions)=")
_FEWEST_WORDS = 4
_PLACE = re.compile(r"[\w.-]+(/[\w.*-]+){3,}")
_NUMBER = re.compile(r"\d[\d,]*(\.\d+)?(e[-+]?\d+)?")
_END = re.compile(r"(?<=[.!?]) (?=[A-Z])")


@dataclass
class _Reader(HTMLParser):
    """The texts, links and charts of a page."""

    texts: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    charts: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "href" in given and tag == "a":
            self.links.append(given["href"])
        if "data-live" in given:
            self.charts.append(given["data-live"])
        if tag not in _ALONE:
            is_note = tag == "td" and "note" in given.get("class", "")
            is_text = tag in _TEXTS or is_note or "sentence" in given.get("class", "")
            self.open.append("text" if is_text else tag)
            if is_text:
                self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        if self.open:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if "main" in self.open and "text" in self.open and not _UNREAD.intersection(self.open):
            self.texts[-1] += data


def sentences_of(page: str) -> list[str]:
    """Return the sentences in the HTML of a page."""
    reader = _Reader()
    reader.feed(page)
    return _sentences(reader.texts)


def _sentences(texts: Sequence[str]) -> list[str]:
    plain = [" ".join(text.split()) for text in texts]
    found = [each for text in plain for each in _END.split(text) if each.count(" ") >= _FEWEST_WORDS]
    return [each for each in found if not each.startswith("{")]


def _read(server: Server, path: str) -> tuple[list[str], list[str]]:
    """Return the sentences of a page, with those about its charts, and the paths that it links to."""
    page = _Reader()
    page.feed(server.answer(path).decode())
    charts = page.charts[:1] if path.startswith(_DRAWN) else []
    drawn = [json.loads(server.answer(chart))["description"] for chart in charts]
    return _sentences([*page.texts, *drawn]), page.links


def sentences(server: Server, view: ReleaseView) -> Iterator[tuple[str, str]]:
    """Yield each sentence with the path of its page."""
    places = re.findall("<loc>([^<]*)", server.answer("/sitemap.xml").decode())
    paths = [urlsplit(place).path for place in places]
    for workload in view.workloads:
        paths += [f"/advice?workload={workload}&price=1", f"/workloads/{workload}?conclusions=true"]
    known = {path for path in paths if not path.startswith(_SKIPPED)}
    waiting = deque(sorted(known))
    while waiting:
        path = waiting.popleft()
        texts, links = _read(server, path)
        yield from ((text, path) for text in texts)
        compared = [link for link in links if link.startswith("/compare?")]
        if path != "/compare":  # of a workload with others, all together
            compared = sorted(compared, key=lambda link: link.count("workload="))[-1:]
        new = set() if "?" in path else {*filter(_LED_TO.match, links), *compared} - known
        known |= new
        waiting += sorted(new)


def _names(view: ReleaseView) -> re.Pattern[str]:
    """Return what matches the names of workloads and their parts, goals and hardware."""
    names = {name for workload in view.workloads for name in _names_of(workload)} | {*view.metrics}
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(rf"(?<![\w/])({'|'.join(map(re.escape, longest_first))})(?![\w/])")


def _names_of(workload: Workload) -> Iterator[str]:
    yield str(workload)
    yield collection_name(workload.collection)
    for part in ("dataset", "model", "optimizer"):
        yield from (getattr(workload, part), display_name(part, workload))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the sentences of the newest release of a lake."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lake", type=Path, required=True)
    parser.add_argument("--all", action="store_true", help="every sentence, not one of each kind")
    chosen = parser.parse_args(arguments)
    lake = Lake.open(chosen.lake)
    view = ReleaseView.open(lake, lake.release())
    names, kinds, examples = _names(view), Counter[str](), dict[str, str]()
    with service(lake.folder, 1) as server:
        for text, path in sentences(server, view):
            kind = text if chosen.all else _NUMBER.sub("#", names.sub("…", _PLACE.sub("…", text)))
            kinds[kind] += 1
            examples.setdefault(kind, f"{text}\n    {path}")
    for kind, example in examples.items():
        print(f"{kinds[kind]:,} x {example}")


if __name__ == "__main__":
    main()
