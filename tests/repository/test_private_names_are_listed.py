"""A private name of another package has its reason in ARCHITECTURE.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from tests.repository.checkout import INSTALLED, ROOT, sources

SECTION = "## Own code and private names"
# Documented members of named tuples, which have their underscore to keep clear of names of fields.
# Of the extra trainers, which the tests of every day do without.
TRAINERS = {"keras", "lightning"}
DOCUMENTED = {"_asdict", "_field_defaults", "_fields", "_make", "_replace"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def foreign_names(source: str, package: str) -> set[str]:
    """Return the private names of other packages that a module of this package imports, reads or overrides."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, _LOOKED_AT)]
    imports = {name: origin for name, origin in _imports(nodes) if origin.partition(".")[0] != package}
    found = {part for origin in imports.values() for part in origin.split(".") if is_private(part)}
    defined = {node.name for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    defined |= {node.attr for node in nodes if isinstance(node, ast.Attribute) and _is_of_self(node)}
    targets = [node.target for node in nodes if isinstance(node, ast.AnnAssign)]
    defined |= {each.id for each in targets if isinstance(each, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.Attribute) and is_private(node.attr) and not _is_of_self(node):
            if _root(node) in imports or node.attr not in defined | DOCUMENTED:
                found.add(node.attr)
        elif isinstance(node, ast.ClassDef):
            found |= _inherited(node, imports)
    return found


# To walk through all nodes of all modules takes a second each time.
_LOOKED_AT = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef, ast.Attribute, ast.AnnAssign)


def _imports(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield the name that each import gives, and what it is."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name.partition(".")[0], alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def _inherited(node: ast.ClassDef, imports: dict[str, str]) -> set[str]:
    """Return the private names of base classes from other packages that a class overrides or uses."""
    known: set[str] = set()
    for base in node.bases:
        expression = base.value if isinstance(base, ast.Subscript) else base
        root, _, rest = ast.unparse(expression).partition(".")
        if root in imports:
            known |= _members(f"{imports[root]}.{rest}".strip("."))
    if not known:
        return set()
    names = {each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
    names |= {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute) and _is_of_self(each)}
    return {name for name in names & known if is_private(name)} - DOCUMENTED


@cache
def _members(path: str) -> set[str]:
    """Return the names that a class has, and those that it annotates; none of a trainer that isn't installed."""
    module, _, name = path.rpartition(".")
    if find_spec(module.partition(".")[0]) is None:
        assert module.partition(".")[0] in TRAINERS
        return set()
    found: Any = getattr(import_module(module), name)
    return {
        *dir(found),
        *(each for kind in getattr(found, "__mro__", ()) for each in vars(kind).get("__annotations__", ())),
    }


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _is_of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def used() -> dict[str, set[str]]:
    """Return the private names by module."""
    found = {}
    for package, folder in INSTALLED.items():
        for path in sources(folder, ".py"):
            module = ".".join((package, *path.relative_to(ROOT / folder).with_suffix("").parts))
            found[module] = foreign_names(path.read_text(), package)
    return {module: names for module, names in found.items() if names}


@cache
def reasons() -> list[str]:
    """Return the rows of the table."""
    section = (ROOT / "ARCHITECTURE.md").read_text().partition(SECTION)[2].partition("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("| ")]


def test_each_private_name_has_its_reason() -> None:
    modules = used()
    assert len(modules) >= 2
    for module, names in modules.items():
        rows = [row for row in reasons() if re.search(rf"`{re.escape(module)}`", row)]
        for name in names:
            assert any(re.search(rf"\b{re.escape(name)}`", row) for row in rows), f"{module} uses {name}"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from pyiceberg.table.update import _apply_table_update as apply", {"_apply_table_update"}),
        ("import uvicorn._subprocess", {"_subprocess"}),
        ("from starlette._utils import is_async_callable", {"_utils"}),
        ("import zipfile\nzipfile._EndRecData(file)", {"_EndRecData"}),
        ("import sys\nsys.modules['a']._hidden", {"_hidden"}),
        ("def read(context: SparkContext):\n    context._jvm", {"_jvm"}),
        ("import ast\nclass A(ast.NodeVisitor):\n    def _own(self): self._own()", set()),
        ("import logging\nclass A(logging.Formatter):\n    def f(self): return self._fmt", set()),
        ("import json\nclass A(json.JSONEncoder):\n    def g(self): return super()._iterencode", {"_iterencode"}),
        ("import io\nclass A(io.IOBase):\n    def _checkClosed(self): ...", {"_checkClosed"}),
        ("from losslake.lake import _own", set()),
        ("from losslake_schema import _other", {"_other"}),
        ("row._replace(a=1)", set()),
        ("module.__file__", set()),
    ],
)
def test_private_names_of_other_packages_are_found(source: str, expected: set[str]) -> None:
    assert foreign_names(source, "losslake") == expected
