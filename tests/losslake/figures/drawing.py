"""Reading a drawn figure: texts, font sizes and marks of an SVG."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import vl_convert

from losslake.figures.figure import to_json
from losslake.figures.panel import Series
from losslake.figures.theme import Document

_IS_A_COLOUR = re.compile("#[0-9a-fA-F]{6,8}").fullmatch
_HOLDS_A_COLOUR = re.compile("(?!text|subtitle|title|domain).*").fullmatch
SVG = "{http://www.w3.org/2000/svg}"


def svg_of(specification: Document) -> ET.Element:
    return ET.fromstring(vl_convert.vegalite_to_svg(to_json(specification).decode(), allowed_base_urls=[]))


def texts(svg: ET.Element) -> list[str]:
    return ["".join(each.itertext()) for each in svg.iter(f"{SVG}text")]


def sizes_of_type(svg: ET.Element) -> list[float]:
    return [float(each.attrib["font-size"].removesuffix("px")) for each in svg.iter(f"{SVG}text")]


def width_of(svg: ET.Element) -> float:
    return float(svg.attrib["width"])


def marks(specification: Document, kind: str) -> list[dict[str, Any]]:
    """Return the rows of all layers with such a mark, in all panels."""
    rows = []
    for panel in specification["concat"]:
        for layer in panel["layer"]:
            mark = layer["mark"] if isinstance(layer["mark"], str) else layer["mark"]["type"]
            if mark == kind:
                # Altair moves data that all layers share to the panel or the top.
                data = layer.get("data") or panel.get("data") or specification["data"]
                rows += specification["datasets"][data["name"]]
    return rows


def colours_of(specification: Document) -> set[str]:
    """Return every colour of the specification, legends and axes included, except those in rows and texts."""
    return {value for name, value in _named(specification, "") if _HOLDS_A_COLOUR(name) and _IS_A_COLOUR(value)}


def _named(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _named(each, key) if key != "datasets" else ()
    elif isinstance(value, list):
        for each in value:
            yield from _named(each, name)
    elif isinstance(value, str):
        yield name, value


def series(label: str, **columns: Sequence[object]) -> Series:
    return Series(label, pa.table(dict(columns)))


def words(specification: Document) -> list[str]:
    """Return the texts among the marks."""
    return [str(row["text"]) for row in marks(specification, "text") if "text" in row]
