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

MAY_IMPORT = {
    "schema": set(),
    "ingest": {"schema"},
    "service": {"schema"},
    "losslake": {"schema", "ingest", "service"},
    "studies": set(),
    "bench": {"losslake", "schema", "ingest", "service", "studies"},
    "tests": set(FOLDERS),
}


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


def wrong_way(folder: str, source: str) -> list[tuple[int, str]]:
    forbidden = {*FOLDERS, ".", "..", "..."} - MAY_IMPORT[folder] - {folder}
    return [(line, name) for line, name in imported(source) if name in forbidden]


def requirements(*extras: str) -> set[str]:
    names = project()["project"]
    lines = [*names["dependencies"], *(line for extra in extras for line in names["optional-dependencies"][extra])]
    return {canonicalize_name(Requirement(line).name) for line in lines}


def undeclared(path: Path, declared: set[str], distributions: dict[str, list[str]]) -> list[str]:
    ours = {*FOLDERS, *sys.stdlib_module_names, "__future__"}
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
def test_a_package_imports_only_what_stands_below_it(folder: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sources(folder, ".py")
        for line, name in wrong_way(folder, path.read_text())
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("folder", "source"),
    [
        ("schema", "import ingest"),
        ("schema", "from service.app import app"),
        ("ingest", "import service.analysis as analysis"),
        ("service", "from ingest import run"),
        ("service", "def late() -> None:\n    import losslake"),
        ("studies", "from schema.names import METRICS"),
        ("bench", "from tests.oracle import steps"),
        ("losslake", "from bench import archive"),
        ("ingest", "from ..service import app"),
    ],
)
def test_an_import_in_the_wrong_direction_is_found(folder: str, source: str) -> None:
    assert wrong_way(folder, source)


@pytest.mark.parametrize(
    ("folder", "source"),
    [("ingest", "from schema.lake import Lake"), ("losslake", "import service, ingest"), ("schema", "import duckdb")],
)
def test_an_import_in_the_right_direction_is_allowed(folder: str, source: str) -> None:
    assert wrong_way(folder, source) == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_library_that_is_imported_is_a_declared_dependency(folder: str) -> None:
    if folder not in INSTALLED:
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
