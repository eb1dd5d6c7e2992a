"""How fast each log format goes in, beside a plain read of the same bytes: python -m bench.formats [names…].

Every measurement is made in a process of its own. `reader` is the format alone, from bytes to columns; `ingest` is all
of it, to a published release.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

from bench.logs import MAPPING, WRITERS
from bench.measure import in_own_process, machine
from losslake.lake.lake import Lake
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.format import format_named
from losslake_ingest.mapping.mapping import MAPPING_NAME, load_mapping
from losslake_ingest.run import ingest
from losslake_ingest.sources.open import open_source

ROUNDS = 3


def plain_read(folder: Path) -> int:
    """Read every byte once."""
    return sum(len(path.read_bytes()) for path in folder.rglob("*") if path.is_file())


def reader(name: str, folder: Path) -> int:
    """Read the runs of a folder and return their number."""
    entries = format_named(name).read(open_source(folder), load_mapping(folder / MAPPING_NAME))
    return sum(isinstance(run, RunLog) for run in entries)


def whole_ingest(folder: Path) -> tuple[int, int, int]:
    """Ingest a folder into a new lake: trials, evaluations, measurements."""
    with tempfile.TemporaryDirectory() as place:
        summary = ingest(Lake.create(f"{place}/lake"), [folder])
    return summary.trials_ingested, summary.evaluations, summary.measurements


def measure(name: str) -> str:
    """Return a row of the table for one kind of log."""
    writer, runs, rows = WRITERS[name]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "logs")
        writer(folder, runs, rows)
        log_format = name.partition(",")[0]
        (folder / MAPPING_NAME).write_text(MAPPING.replace("FORMAT", log_format))
        rounds = [
            (
                in_own_process(plain_read, folder),
                in_own_process(reader, log_format, folder),
                in_own_process(whole_ingest, folder),
            )
            for _ in range(ROUNDS)
        ]
    size = rounds[0][0].result / 1e6
    plain, read, whole = (median(measured[at].wall_s for measured in rounds) for at in range(3))
    trials, evaluations, measurements = rounds[0][2].result
    if (rounds[0][1].result, trials) != (runs, runs):
        raise RuntimeError(f"{name}: {rounds[0][1].result} runs read and {trials} trials stored of {runs}")
    return (
        f"| {name} | {size:.1f} | {size / plain:,.0f} | {size / read:,.0f} | {size / whole:,.0f} "
        f"| {evaluations / whole:,.0f} | {measurements / whole:,.0f} | {whole / plain:,.0f} |"
    )


def main(names: list[str]) -> None:
    """Print the table."""
    print(machine())
    print(f"\nMedians of {ROUNDS} rounds, every part in a process of its own.\n")
    columns = [
        "MB",
        "plain read, MB/s",
        "reader, MB/s",
        "ingest, MB/s",
        "evaluations/s",
        "measurements/s",
        "ingest/read",
    ]
    print(f"| format | {' | '.join(columns)} |")
    print(f"| --- |{' ---: |' * len(columns)}")
    for name in names or WRITERS:
        print(measure(name), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
