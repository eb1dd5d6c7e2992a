"""Write accelerators.csv of a collection: what MLPerf's systems ran on, from the descriptions that MLCommons publishes.

    python published/accelerators.py REPOSITORIES published/mlperf-training training_results_v

REPOSITORIES has clones of the repositories of results, `training_results_v4.0` or `hpc_results_v3.0` and so on, whose
`<org>/systems/<system>.json` describe the systems. They are written by hand, in several layouts, some as no valid JSON.
"""

from __future__ import annotations

import csv
import re
import sys
from dataclasses import dataclass
from pathlib import Path

COLUMNS = ("round", "org", "system", "accelerator", "accelerators")
_NODES = re.compile(r"""['"](?:number[ _]of[ _]nodes|num_nodes)['"]\s*:\s*['"]?(\d+)""")
_PER_NODE = re.compile(r"""['"](?:accelerators_per_node|num_accelerators)['"]\s*:\s*['"]?(\d+)""")
_MODEL = re.compile(r"""['"](?:accelerator_model_name|accelerator)['"]\s*:\s*['"]([^'"]*)['"]""")
# How a model is called here, and the words that its published names have in common: the first line that fits counts.
_NAMES = {
    "NVIDIA GB300": "gb300",
    "NVIDIA GB200": "gb200",
    "NVIDIA B300": "b300",
    "NVIDIA B200": "b200",
    "NVIDIA H200": "h200",
    "NVIDIA H100": "h100",
    "NVIDIA A100": "a100",
    "NVIDIA A40": "a40",
    "NVIDIA A30": "a30",
    "NVIDIA A10G": "a10g",
    "NVIDIA L40S": "l40s",
    "NVIDIA L40": "l40",
    "NVIDIA L4": "l4",
    "NVIDIA V100": "v100s?",
    "NVIDIA P100": "p100",
    "NVIDIA RTX PRO 6000": "rtx pro 6000",
    "NVIDIA RTX 4090": "rtx 4090",
    "NVIDIA RTX A5000": "rtx a5000",
    "NVIDIA Quadro RTX 5000": "rtx 5000",
    "AMD Instinct MI355X": "mi355x",
    "AMD Instinct MI350X": "mi350x",
    "AMD Instinct MI325X": "mi325x",
    "AMD Instinct MI300X": "mi300x",
    "AMD Radeon RX 7900 XTX": "rx 7900 xtx",
    "Intel Gaudi 2": "gaudi *2",
    "Intel Gaudi": "gaudi",
    "Graphcore Bow": "bow",
    "Graphcore GC200": "gc200",
    "Huawei Ascend 910": "ascend *910",
    "Google TPU Trillium": "tpu trillium",
    "Google TPU v5p": "tpu v5p",
    "Google TPU v5e": "tpu v5e",
    "Google TPU v4": "tpu v4",
    "Google TPU v3": "tpu v3",
}
_BETWEEN_WORDS = re.compile(r"(?:\(R\)|[\W_])+")


@dataclass(frozen=True)
class Hardware:
    """The accelerators of a system.

    accelerator: the name of the model, "" if unknown. accelerators: the number in all nodes, None if zero or unknown.
    """

    accelerator: str
    accelerators: int | None


def hardware(description: str, system: str) -> Hardware:
    """Return what the description of a system says. Raises ValueError for a model that isn't in the table of names."""
    nodes, per_node = _only(_NODES, description), _only(_PER_NODE, description)
    model = _only(_MODEL, description)
    has_none = not any(map(int, _PER_NODE.findall(description)))
    if has_none and model in (None, "", "N/A", "NA"):
        return Hardware("CPU", None)
    return Hardware(_name(model, system) if model else "", int(nodes or 0) * int(per_node or 0) or None)


def _only(pattern: re.Pattern[str], text: str) -> str | None:
    """Return the one value of a key, None if there are several or none."""
    values = set(pattern.findall(text))
    return values.pop() if len(values) == 1 else None


def _name(model: str, system: str) -> str:
    # A description of a TPU may leave out its version, which the system's name has.
    written = _BETWEEN_WORDS.sub(" ", f"{model} {system}" if model == "TPU" else model).lower()
    name = next((name for name, words in _NAMES.items() if re.search(rf"\b{words}\b", written)), None)
    if name is None:
        raise ValueError(f"{model!r} isn't in the table of names: add a line")
    return name


def main() -> None:
    """Write the table of a collection."""
    repositories, collection, lead = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    rows = []
    for path in repositories.glob(f"{lead}*/*/systems/*.json"):
        number, org = path.parts[-4].removeprefix(lead), path.parts[-3]
        try:
            found = hardware(path.read_text("utf-8", "replace"), path.stem)
        except ValueError as error:
            sys.exit(f"{path}: {error}")
        rows.append((number, org, path.stem, found.accelerator, found.accelerators or ""))
    with (collection / "accelerators.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *sorted(rows)])


if __name__ == "__main__":
    main()
