"""Speed of ingest of each log format, beside a plain read of the same bytes.

python -m bench.formats [names…] [--rounds 3] [--runs N] [--rows N]

Every measurement is made in a process of its own. `reader` is the format alone, from bytes to columns; `ingest` is all
of it, to a published release.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench.asking import expect
from bench.logs import COUNTERS, MAPPING, OF_LOGGERS, WRITERS
from bench.measure import in_own_process, machine
from losslake.lake.lake import Lake
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.format import format_named
from losslake_ingest.mapping.mapping import MAPPING_NAME, load_mapping
from losslake_ingest.run import ingest
from losslake_ingest.sources.open import open_source


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


def measure(name: str, rounds: int, most_runs: int | None, most_rows: int | None) -> str:
    """Return a row of the table for one kind of log; raises WrongAnswer unless every run is read and stored."""
    writer, runs, rows = WRITERS[name]
    runs, rows = min(runs, most_runs or runs), min(rows, most_rows or rows)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "logs")
        writer(folder, runs, rows)
        log_format = name.partition(",")[0]
        counters = COUNTERS if log_format in OF_LOGGERS else ""
        (folder / MAPPING_NAME).write_text(MAPPING.replace("FORMAT", log_format) + counters)
        measured = [
            (
                in_own_process(plain_read, folder),
                in_own_process(reader, log_format, folder),
                in_own_process(whole_ingest, folder),
            )
            for _ in range(rounds)
        ]
    size = measured[0][0].result / 1e6
    plain, read, whole = (median(each[at].wall_s for each in measured) for at in range(3))
    trials, evaluations, measurements = measured[0][2].result
    expect(f"runs of {name} that are read, and trials that are stored", (measured[0][1].result, trials), (runs, runs))
    return (
        f"| {name} | {size:.1f} | {size / plain:,.0f} | {size / read:,.0f} | {size / whole:,.0f} "
        f"| {evaluations / whole:,.0f} | {measurements / whole:,.0f} | {whole / plain:,.0f} |"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"default: all of {', '.join(WRITERS)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, help="at most; default: 20 or 40")
    parser.add_argument("--rows", type=int, help="of a run, at most; default: 3,000 to 50,000")
    options = parser.parse_args(arguments)
    print(machine())
    print(f"\nMedians of {options.rounds} rounds, every part in a process of its own.\n")
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
    for name in options.names or WRITERS:
        print(measure(name, options.rounds, options.runs, options.rows), flush=True)


if __name__ == "__main__":
    main()
