"""Links from marks to pages: any name is escaped, and links lead to the service."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from urllib.parse import unquote

import pytest

from losslake.figures.charts.best import best_chart
from losslake.figures.figure import figure, to_json
from losslake.figures.links import Links, literal
from losslake.figures.panel import Panel, Series
from losslake.figures.rendering import render_image
from tests.losslake.figures.drawing import series

HOSTILE = (
    "\"+alert('1')+\"",
    "back\\slash",
    "</script><script>alert(1)",
    "line\u2028separator",
    "javascript:x",
    "%2e?#&",
)
XLINK = "{http://www.w3.org/1999/xlink}href"


def named(label: str, workload: str, *sizes: int) -> Series:
    rows = series(label, batch_size=sizes, best_value=[0.5] * len(sizes), trial_id=[7] * len(sizes)).rows
    return Series(label, rows, workload)


def hrefs(*drawn: Series, links: Links) -> list[str]:
    svg = render_image(to_json(figure([best_chart(drawn, Panel(links=links))])), "svg")
    return [each.attrib[XLINK] for each in ET.fromstring(svg).iter() if XLINK in each.attrib]


def test_hostile_names_are_escaped_path_segments() -> None:
    drawn = [named(name, f"c/d/m/{name}", 2**place) for place, name in enumerate(HOSTILE)]
    links = hrefs(*drawn, links=Links("", 3))
    assert [unquote(link) for link in links] == [
        f"/trials/c/d/m/{name}/{2**place}/7?release=3" for place, name in enumerate(HOSTILE)
    ]
    assert all(link.isascii() and link.count("?") == 1 and "#" not in link for link in links)


@pytest.mark.parametrize("text", HOSTILE)
def test_text_in_an_expression_is_one_literal(text: str) -> None:
    assert json.loads(literal(text)) == text
    assert literal(text).isascii()


def test_rows_omit_shared_values() -> None:
    text = to_json(figure([best_chart([named("", "c/d/m/sgd", 1, 2, 4, 8)], Panel(links=Links()))])).decode()
    assert text.count("c/d/m/sgd") == 1


def test_marks_have_no_links_by_default() -> None:
    assert "href" not in to_json(figure([best_chart([named("", "c/d/m/sgd", 1)], Panel())])).decode()
