import ast
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.repository.checkout import FOLDERS, INSTALLED, ROOT, project, sources


@cache
def imported(source: str) -> tuple[tuple[int, str], ...]:
    """Line and top-level name of every import, wherever in the module it stands."""
    return tuple(_imports(source))


def _imports(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # A relative import stays inside its package only as long as nobody counts dots.
            yield node.lineno, (node.module or "").partition(".")[0] if node.level == 0 else "." * node.level


def requirements(*extras: str) -> set[str]:
    names = project()["project"]
    lines = [*names["dependencies"], *(line for extra in extras for line in names["optional-dependencies"][extra])]
    return {canonicalize_name(Requirement(line).name) for line in lines}


def undeclared(path: Path, declared: set[str], distributions: dict[str, list[str]]) -> list[str]:
    ours = {*FOLDERS, *INSTALLED, *sys.stdlib_module_names, "__future__"}
    return [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for line, name in imported(path.read_text())
        if name not in ours
        and declared.isdisjoint(canonicalize_name(found) for found in distributions.get(name, [name]))
    ]


@cache
def _distributions() -> dict[str, list[str]]:
    return {name: list(found) for name, found in packages_distributions().items()}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_library_that_is_imported_is_a_declared_dependency(folder: str) -> None:
    if folder in ("bench", "tests"):
        declared = requirements("dev", "studies", "peers", "spark")
    elif folder == "studies":
        declared = requirements("studies")
    else:
        declared = requirements()
    distributions = _distributions()
    with_spark = declared | requirements("spark")
    missing = [
        line
        for path in sources(folder, ".py")
        for line in undeclared(path, with_spark if "spark" in str(path.relative_to(ROOT)) else declared, distributions)
    ]
    assert missing == []
