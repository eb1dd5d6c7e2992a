"""The methods of lakes are made from `methods.json`, and described to editors and mypy by `methods.pyi`."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints

import pyarrow as pa
import pytest

from losslake.library import generate
from losslake.library.lake import Lake
from losslake.library.methods import QuestionMethods
from losslake.library.result import Curve
from tests.repository.checkout import INSTALLED, ROOT

NAMES = sorted(name for name in vars(QuestionMethods) if not name.startswith("_"))
STUB = generate.FOLDER / "methods.pyi"


class Recorder:
    """A source that answers nothing and keeps the last request."""

    name = "recorder"

    def answer(self, path: str, parameters: Mapping[str, Any], release: int | None) -> pa.Table:
        self.request = (path, list(parameters.items()), release)
        return pa.table({})

    def figure(self, kind: str, parameters: Mapping[str, Any], ending: str) -> bytes:
        return b""

    def sql(self, statement: str, parameters: Any, release: int | None) -> pa.Table:
        return pa.table({})


def test_generated_files_are_those_of_the_questions() -> None:
    """If this fails: python -m losslake.library.generate."""
    for name, text in generate.generated().items():
        assert (generate.FOLDER / name).read_text("utf-8") == text, name


def test_methods_have_the_signatures_and_docstrings_of_the_stub() -> None:
    stub: dict[str, Any] = {}
    exec("from __future__ import annotations\n" + STUB.read_text("utf-8"), stub)
    declared = {name: each for name, each in vars(stub["QuestionMethods"]).items() if not name.startswith("_")}
    assert sorted(declared) == NAMES
    for name, each in declared.items():
        method = getattr(Lake, name)
        assert inspect.signature(method) == inspect.signature(each)
        assert inspect.getdoc(method) == inspect.getdoc(each)
        assert (method.__name__, method.__annotations__) == (name, each.__annotations__)


def test_annotations_of_every_method_can_be_evaluated() -> None:
    results = {name: get_type_hints(getattr(Lake, name))["return"] for name in NAMES}
    assert results["scaling"] is Curve


def test_a_request_has_the_given_parameters_in_the_order_of_the_declaration() -> None:
    source = Recorder()
    lake = Lake(source, 3)
    lake.forecast("a/b/c/d", 64, ("20=0.8", "40=0.4"), target=0.1, metric="val/loss", trials=None)
    expected = [
        ("workload", "a/b/c/d"), ("metric", "val/loss"), ("target", 0.1), ("batch_size", 64),
        ("curve", ["20=0.8", "40=0.4"]),
    ]  # fmt: skip
    assert source.request == ("/v1/analysis/forecast", expected, 3)


def test_filters_of_a_list_follow_its_other_parameters() -> None:
    source = Recorder()
    Lake(source).workloads(model="mlp", limit=2, filters="x")
    assert source.request == ("/v1/workloads", [("limit", 2), ("model", "mlp"), ("filters", "x")], None)


@pytest.mark.parametrize(
    ("positional", "named", "message"),
    [
        ((), {}, r"Lake\.scaling\(\) missing a required .*argument: 'workload'"),
        (("w", "val/loss"), {}, r"Lake\.scaling\(\) too many positional arguments"),
        (("w",), {"metrics": "val/loss"}, r"Lake\.scaling\(\) got an unexpected keyword argument 'metrics'"),
        (("w",), {"workload": "v"}, r"Lake\.scaling\(\) multiple values for argument 'workload'"),
    ],
)
def test_arguments_that_do_not_fit_are_a_type_error(
    positional: tuple[str, ...], named: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        Lake(Recorder()).scaling(*positional, **named)


PROGRAM = """
import losslake
lake = losslake.open("https://host")
reveal_type(lake.scaling("a/b/c/d", target=0.05))
reveal_type(lake.workloads(model="mlp_64"))
lake.scaling()
lake.scaling("a/b/c/d", metrics="val/loss")
lake.scaling("a/b/c/d", measure="hours")
"""


def test_mypy_checks_the_calls_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    # Without the libraries that results can be converted to, which take mypy long to read.
    options = ["--strict", "--no-site-packages", "--follow-imports", "silent", "--no-error-summary"]
    paths = os.pathsep.join(str((ROOT / INSTALLED[package]).parent) for package in ("losslake", "losslake_schema"))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": paths},
        capture_output=True,
        text=True,
    )
    lines = [line for line in done.stdout.splitlines() if '" defined in "' not in line]
    expected = [
        'program.py:4: note: Revealed type is "losslake.library.result.Curve"',
        'program.py:5: note: Revealed type is "losslake.library.result.Result"',
        'program.py:6: error: Missing positional argument "workload"',
        'program.py:7: error: Unexpected keyword argument "metrics"',
        'program.py:8: error: Argument "measure"',
    ]
    assert [line[: len(start)] for line, start in zip(lines, expected, strict=True)] == expected, done.stderr
