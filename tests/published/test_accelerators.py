"""The tables of accelerators say what the descriptions of MLPerf's systems say, in each of their layouts."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from published.accelerators import COLUMNS, Hardware, hardware

TABLES = sorted((Path(__file__).parents[2] / "published").glob("*/accelerators.csv"))
# A description as most are, one of v0.7 that is no JSON, and the two layouts of v0.6.
USUAL = (
    '{"number_of_nodes": "64", "accelerators_per_node": "8", "accelerator_model_name": "NVIDIA A100-SXM4-80GB (400W)"}'
)
WITH_SPACES = (
    '{"number of nodes": 4,\n "accelerators_per_node" : "4", "accelerator_model_name" : "Tesla V100-SXM2-32GB", }'
)
OF_LINES = (
    """entry: {"value": "{'nodes': \"{'num_accelerators': '16', 'num_nodes': '96', 'accelerator': 'V100-H'}\"}"}"""
)
NESTED = '{"nodes": [{"num_nodes": 512, "accelerator": "Tesla V100-SXM2-16GB", "num_accelerators": 4}]}'


@pytest.mark.parametrize(
    ("description", "found"),
    [
        (USUAL, Hardware("NVIDIA A100", 512)),
        (WITH_SPACES, Hardware("NVIDIA V100", 16)),
        (OF_LINES, Hardware("NVIDIA V100", 1536)),
        (NESTED, Hardware("NVIDIA V100", 2048)),
        (
            USUAL.replace("NVIDIA A100-SXM4-80GB (400W)", "Intel(R) Gaudi(R) 2 AI Accelerator"),
            Hardware("Intel Gaudi 2", 512),
        ),
        (USUAL.replace("NVIDIA A100-SXM4-80GB (400W)", ""), Hardware("", 512)),
        (
            '{"number_of_nodes": "8", "accelerators_per_node": "0", "accelerator_model_name": "N/A"}',
            Hardware("CPU", None),
        ),
        ('{"accelerators_per_node": "8", "accelerator_model_name": "H100"}', Hardware("NVIDIA H100", None)),
        ('[{"num_nodes": 2, "num_accelerators": 8}, {"num_nodes": 1, "num_accelerators": 4}]', Hardware("", None)),
    ],
)
def test_accelerators_of_a_system_are_those_of_all_nodes(description: str, found: Hardware) -> None:
    assert hardware(description, "x") == found


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("NVIDIA L40S", "NVIDIA L40S"),
        ("NVIDIA L40", "NVIDIA L40"),
        ("NVIDIA L4", "NVIDIA L4"),
        ("NVIDIA Blackwell GPU (GB200)", "NVIDIA GB200"),
        ("NVIDIA Blackwell GPU (B200-SXM-180GB)", "NVIDIA B200"),
        ("NVIDIA A10G", "NVIDIA A10G"),
        ("TPU", "Google TPU v4"),
        ("Habana Gaudi", "Intel Gaudi"),
        ("NVIDIA V100-SXM2-16GB 300W", "NVIDIA V100"),
        ("Tesla V100S-PCIe-32GB", "NVIDIA V100"),
    ],
)
def test_a_model_is_named_by_the_most_specific_line(model: str, name: str) -> None:
    assert hardware(USUAL.replace("NVIDIA A100-SXM4-80GB (400W)", model), "tpu-v4-128-TF").accelerator == name


def test_a_model_that_no_line_names_asks_for_one() -> None:
    with pytest.raises(ValueError, match="'XPU-9' isn't in the table of names: add a line"):
        hardware(USUAL.replace("NVIDIA A100-SXM4-80GB (400W)", "XPU-9"), "x")


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.parent.name)
def test_systems_whose_names_state_numbers_have_so_many(table: Path) -> None:
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert len({(row["round"], row["org"], row["system"]) for row in rows}) == len(rows)
    for row in rows:
        if row["org"] == "NVIDIA" and (nodes := re.match("dgxa100_n([0-9]+)_", row["system"])):
            assert (row["accelerator"], int(row["accelerators"])) == ("NVIDIA A100", 8 * int(nodes[1]))
