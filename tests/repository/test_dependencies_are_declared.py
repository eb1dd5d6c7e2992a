import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from tests.repository.checkout import FOLDERS, INSTALLED, ROOT, sources
from tests.repository.extras import declared, distributions, modules


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


# The extra that declares what a file or folder imports, the longest path first; "" is the base.
EXTRAS = {
    "losslake/__init__.py": "",
    "cli/losslake_cli/main.py": "",
    "losslake/client/client.py": "",
    "losslake/client/service.py": "",
    "losslake/extras.py": "",
    "losslake/library/lake.py": "",
    "losslake/library/service.py": "",
    "losslake/library/generate.py": "lake",
    "losslake/library/local.py": "lake",
    "losslake/library/result.py": "dev",  # pandas and Polars, where the user has them
    "losslake/library": "",
    "losslake/record/callbacks/hugging_face.py": "trainers",
    "losslake/record/callbacks/keras.py": "trainers",
    "losslake/record/callbacks/lightning.py": "trainers",
    "losslake/record": "",
    "losslake/spark": "spark",
    "cli/losslake_cli/sql/spark_session.py": "spark",
    "cli/losslake_cli/logs/wandb_runs.py": "wandb",
    "cli": "lake",
    "losslake": "lake",
    "schema": "lake",
    "ingest/losslake_ingest/pipeline/spark_engine.py": "spark",
    "ingest": "ingest",
    "service": "service",
    "contributions": "contributions",
    "published": "",
    "studies/stdlib_bytes.py": "studies-gpu",
    "studies": "studies",
}


def extras_for(path: Path) -> list[str]:
    if path.parts[0] in ("bench", "tests"):
        return ["dev", "trainers"]
    return [extra for extra in [next(extra for place, extra in EXTRAS.items() if path.is_relative_to(place))] if extra]


def undeclared(path: Path) -> list[str]:
    ours = {*FOLDERS, *INSTALLED, *sys.stdlib_module_names, "__future__"}
    wanted = distributions(declared(*extras_for(path.relative_to(ROOT))))
    return [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for line, name in imported(path.read_text())
        if name not in ours and wanted.isdisjoint(modules().get(name, [canonicalize_name(name)]))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_library_that_is_imported_is_declared_by_the_extra_of_its_folder(folder: str) -> None:
    assert [line for path in sources(folder, ".py") for line in undeclared(path)] == []
