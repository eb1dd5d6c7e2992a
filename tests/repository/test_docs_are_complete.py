"""Documents that name every one of something, checked against the code."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import get_args, get_origin, get_type_hints

import pytest

from losslake_ingest.formats.format import formats
from losslake_ingest.mapping.lookup import LookupKeys
from losslake_ingest.mapping.mapping import MappingSections, RunSections, bundled_mappings, parse_mapping

DOCS = Path(__file__).parents[2] / "docs"
SECTIONS = get_type_hints(MappingSections) | {"lookup": LookupKeys, "when": RunSections}
MAPPING = (DOCS / "mapping.md").read_text("utf-8")


def test_every_path_named_in_architecture_exists() -> None:
    text = (DOCS.parent / "ARCHITECTURE.md").read_text("utf-8")
    modules = set(re.findall(r"\blosslake(?:_\w+)?(?:\.[a-z_]+)+\b(?!\.toml)", text)) - {"losslake.toml", "lake.toml"}
    assert [name for name in sorted(modules) if not _is_there(name)] == []
    paths = set(re.findall(r"`((?:tests|bench|docs|deploy)/[\w./]+)`", text))
    assert [path for path in sorted(paths) if not (DOCS.parent / path).exists()] == []


def test_every_path_named_in_contributing_exists() -> None:
    text = (DOCS.parent / "CONTRIBUTING.md").read_text("utf-8")
    top = "schema|ingest|service|losslake|tests|bench|docs|deploy"
    paths = set(re.findall(rf"`((?:{top})/[\w./]+)`", text))
    assert len(paths) > 30
    assert [path for path in sorted(paths) if not (DOCS.parent / path).exists()] == []


def _is_there(name: str) -> bool:
    try:
        resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_every_format_has_its_section() -> None:
    sections = re.findall(r"^## (\w+)$", (DOCS / "formats.md").read_text("utf-8"), re.MULTILINE)
    assert sections == sorted(formats())


@pytest.mark.parametrize("name", SECTIONS)
def test_every_section_and_key_of_a_mapping_is_documented(name: str) -> None:
    heading = re.search(rf"^### `\[{{0,2}}{name}\]{{0,2}}`$(.*?)(?=^##|\Z)", MAPPING, re.MULTILINE | re.DOTALL)
    assert heading is not None
    section = get_args(SECTIONS[name])[0] if get_origin(SECTIONS[name]) is list else SECTIONS[name]
    if is_dataclass(section):
        assert [key.name for key in fields(section) if f"`{key.name}`" not in heading[1]] == []


def test_every_bundled_mapping_is_listed() -> None:
    table = MAPPING[MAPPING.index("## Mappings that come with LossLake") :]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == sorted(bundled_mappings())


def test_example_mappings_are_valid() -> None:
    table = b"submission,workload,batch_size\na,b,64\n"
    examples = re.findall(r"```toml\n(.*?)```", MAPPING, re.DOTALL)
    parsed = [parse_mapping(example.encode(), "example", lambda _: table) for example in examples]
    assert len(parsed) > 5
    empty = parse_mapping(b"", "example")
    assert [example for example, mapping in zip(examples, parsed, strict=True) if mapping == empty] == []
