"""Whatever the names of fields and columns, a line to add is TOML, and the mapping with it is read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping

import numpy as np
import pytest

from losslake_ingest.contracts.rules import MissingField, Refusal
from losslake_ingest.contracts.run_log import LoggedRows, RunLog
from losslake_ingest.mapping.mapping import parse_mapping
from losslake_ingest.mapping.place import PlacedRun, place
from losslake_ingest.mapping.toml import toml_string

ODD = [
    "a b",
    'a "b"',
    "micro*dev",
    "1e1",
    "été",
    "a\\b",
    "a.b",
    "tab\there",
    "\U000e0001",
    "it's",
    "a#b",
    "a = 1",
    "[a]",
]
RUN = 'collection.name = "c"\n[run]\ndataset = "d"\nmodel = "m"\noptimizer = "o"\nbatch_size = 8\n'
SECTION = re.compile(r"under (\[+[a-z]+\]+)")


def run_of(mapping: str, columns: Mapping[str, list[float]], status: str | None = None) -> PlacedRun:
    rows = LoggedRows({name: np.array(values, float) for name, values in columns.items()})
    return place(RunLog("r", {}, [rows], status=status, most_epochs=1e6), parse_mapping(mapping.encode(), "m"), "s", {})


def advised(mapping: str, columns: Mapping[str, list[float]], status: str | None = None) -> list[MissingField]:
    with pytest.raises(Refusal) as refusal:
        run_of(mapping, columns, status)
    assert refusal.value.missing
    assert "\n" not in refusal.value.message
    return list(refusal.value.missing)


def with_line(mapping: str, line: str) -> str:
    """The mapping with a line under the section that it names, for that of the same key, or as a section of its own."""
    section = SECTION.search(line)
    if line.startswith("["):
        head, axis, rest = mapping.partition("[[axis]]")
        return f"{head}\n{line}\n{axis}{rest}"
    assert section is not None
    mapping = "".join(f"{old}\n" for old in mapping.splitlines() if {*tomllib.loads(old)} != {*tomllib.loads(line)})
    head, found, rest = mapping.partition(f"{section[1]}\n")
    return f"{head}{section[1]}\n{line}\n{rest}" if found else f"{mapping}\n{section[1]}\n{line}\n"


@pytest.mark.parametrize("name", ODD)
def test_the_lines_to_add_are_toml_for_every_name(name: str) -> None:
    text = toml_string(name)
    loss = f'[metrics]\n{text} = "train/loss"\n'
    epochs = "[[axis]]\ncolumn = {}\ncounts = 'epochs'\nepoch_size = {}\n"
    of_field = toml_string(f"{{{name}}}")
    by_name = f"[[axis]]\ncolumn = {text}\n"
    cases: list[tuple[str, str | None, Mapping[str, list[float]]]] = [
        (RUN.replace("8", of_field), None, {"step": [1, 2], "val/loss": [2, 1]}),
        (RUN + epochs.format(text, of_field), None, {name: [1, 2], "val/loss": [2, 1]}),
        (RUN + epochs.format(text, 8), None, {name: [0, 1], "val/loss": [2, 1]}),
        (RUN + epochs.format(text, 8), None, {name: [1, 1e9], "val/loss": [2, 1]}),
        (RUN + loss + "[[axis]]\ncolumn = 'x'\n", None, {name: [1, 2]}),
        (RUN + "[metrics]\nloss = 'train/loss'\n", None, {name: [1, 2], "loss": [2, 1]}),
        (RUN + loss + "[[axis]]\ncolumn = 'step'\n", None, {name: [1, 2, 3], "step": [1, 1, 2]}),
        (RUN + "[[axis]]\ncolumn = 'step'\n", None, {name: [1, 2], "step": [1, 2]}),
        (
            RUN + loss.replace("loss", "accuracy") + "[[axis]]\ncolumn = 'step'\n",
            None,
            {name: [70, 80], "step": [1, 2]},
        ),
        (RUN + by_name, None, {name: [1, 2, 1, 2], "epoch": [1, 1, 2, 2], "val/loss": [4, 3, 2, 1]}),
        (RUN + by_name + "assumed = true\n", None, {name: [1, 2], "epoch": [1, 2], "val/loss": [4, 3]}),
        (RUN + "[[axis]]\ncolumn = 'step'\n", name, {"step": [1, 2], "val/loss": [2, 1]}),
    ]
    for mapping, status, columns in cases:
        for missing in advised(mapping, columns, status):
            tomllib.loads(missing.add)
            corrected = with_line(mapping, missing.add)
            parse_mapping(corrected.encode(), "m")
            try:
                run_of(corrected, columns, status)
            except Refusal as refusal:
                assert "NAME" in missing.add or missing not in refusal.missing  # noqa: PT017


def test_a_number_with_an_exponent_is_a_factor() -> None:
    mapping = RUN.replace("8", '"{micro * 1e1}"') + '[fields]\nmicro = 8\n[[axis]]\ncolumn = "step"\n'
    assert run_of(mapping, {"step": [1, 2], "val/loss": [2, 1]}).study.batch_size == 80


def test_a_product_without_spaces_is_told_from_a_field() -> None:
    (missing,) = advised(RUN.replace("8", '"{micro*dev}"'), {"step": [1], "val/loss": [2]})
    assert "a space on each side" in missing.what
