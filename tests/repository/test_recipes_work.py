"""The recipes of docs/rest.md, run as they stand there against a service over the data that they ask for."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.archives import write_workload
from tests.oracle import Row
from tests.repository.checkout import ROOT
from tests.service.running import served

ADDRESS = "http://127.0.0.1:8000"
METRIC = "val/classification_error"
RECIPES = (ROOT / "docs" / "rest.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", RECIPES, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service over a made-up workload of the name that the recipes ask for: 11 studies of 32 trials each."""
    folder = tmp_path_factory.mktemp("recipes")
    rows = [
        Row(2**exponent, trial_id, "COMPLETE", step, (1 + trial_id / 100) / (2 + 2 * step))
        for exponent in range(11)
        for trial_id in range(1, 33)
        for step in range(0, 100, 2)
    ]
    write_workload(folder / "archive" / "bundled", "digits/mlp_64/nesterov_momentum", {METRIC: rows})
    lake = Lake.create(folder / "lake")
    ingest(lake, [folder / "archive"])
    with served(folder, lake=str(lake.folder)) as running:
        yield running.url


def blocks(kind: str) -> list[str]:
    return [text for found, text in BLOCKS if found == kind]


def test_there_are_ten_recipes_in_the_languages_that_researchers_use() -> None:
    assert len(re.findall(r"^## \d+\. ", RECIPES, re.MULTILINE)) == 10
    assert {kind for kind, _ in BLOCKS} == {"python", "sh", "sql", "r"}


def test_the_recipes_in_python_work_one_after_the_other(address: str, tmp_path: Path) -> None:
    checks = """
    assert len(scaling) == 11 and scaling["steps"].notna().all()
    assert best.height == 11 and near.height > 11 and len(curves) > 32
    assert table.num_rows == 32 * 50
    assert list(parameters) == ["learning_rate", "momentum"] and len(parameters) == 32
    assert seen == page["total"] == 11 * 32
    """
    program = "\n".join([*blocks("python"), re.sub("^ +", "", checks, flags=re.MULTILINE)])
    said = run([sys.executable, "-W", "error", "-c", program.replace(ADDRESS, address)], tmp_path)
    assert "352 of 352" in said


@pytest.mark.parametrize("recipe", blocks("sh"))
def test_a_recipe_for_the_shell_works(address: str, tmp_path: Path, recipe: str) -> None:
    # curl answers with success whatever the status is, unless told to fail.
    strict = 'set -euo pipefail\ncurl() { command curl -fsS "$@"; }\n'
    said = run(["bash", "-c", strict + recipe.replace(ADDRESS, address)], tmp_path)
    if "If-None-Match" in recipe:
        assert said == "304\n"
    elif "-o study.parquet" in recipe:
        assert (tmp_path / "study.parquet").read_bytes().endswith(b"PAR1")
    else:
        assert len(said.splitlines()) > 5


@pytest.mark.parametrize("text", blocks("sql") + blocks("r"))
def test_the_addresses_in_other_languages_have_an_answer(address: str, tmp_path: Path, text: str) -> None:
    found = re.findall(rf"{ADDRESS}[^'\"]+", text)
    assert found
    for each in found:
        run(["curl", "-fsS", "-o", "answer", each.replace(ADDRESS, address)], tmp_path)
        assert (tmp_path / "answer").stat().st_size > 500


def run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
