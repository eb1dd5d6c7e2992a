"""LossLake against peers on the same data in the same run: `python -m bench.peers [--archive FILE] [--rounds 15]`.

Every round asks each peer the same question, one after the other, and compares the answer with LossLake's bit for bit:
one that differs ends the run. A given lake must be of the archive alone, with one release.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from bench.lakes import ARCHIVE_HELP, benchmark_archive, benchmark_lake, temporary_folder
from bench.peers.drawing import drawable_workloads, questions
from bench.peers.duckdb_parquet import DuckdbParquet
from bench.peers.losslake import LossLake, LossLakeOverHttp
from bench.peers.pandas_files import PandasFiles
from bench.peers.pandas_memory import PandasMemory
from bench.peers.peer import Peer
from bench.peers.polars_parquet import PolarsParquet
from bench.peers.questions import Aim, Kind
from bench.peers.report import report
from bench.peers.sqlite_table import SqliteTable
from bench.peers.turns import Patience, PeerTimes, in_turn
from bench.peers.unpacking import unpack
from bench.servers import service
from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView


@contextmanager
def all_peers(archive: Path, lake: Lake, aims: Sequence[Aim]) -> Iterator[list[Peer]]:
    """Yield every peer, prepared for these aims."""
    with temporary_folder() as folder:
        unpack(archive, folder)
        polars = PolarsParquet(lake.folder)
        with (
            closing(SqliteTable(folder / "peers.sqlite", polars, aims)) as sqlite,
            service(lake.folder, 1) as server,
        ):
            yield [
                PandasFiles(folder),
                PandasMemory(polars, aims),
                polars,
                DuckdbParquet(lake.folder),
                sqlite,
                LossLakeOverHttp(server),
            ]


def run(archive: Path, lake: Lake, patience: Patience) -> str:
    """Return the report."""
    release = lake.release()
    losslake = LossLake(ReleaseView.open(lake, release))
    workloads = drawable_workloads(losslake.view)
    times: list[PeerTimes] = []
    with all_peers(archive, lake, [one.aim for one in workloads]) as peers:
        for kind in Kind:
            times += in_turn(losslake, peers, kind, questions(workloads, kind), patience)
            print(f"asked: {kind.title}", file=sys.stderr)
        return report(release, losslake, peers, times)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archive", type=Path, help=ARCHIVE_HELP)
    parser.add_argument("--lake", type=Path, help="a lake of that archive; by default one is made")
    parser.add_argument("--rounds", type=int, default=15, help="at most; default: %(default)s")
    parser.add_argument(
        "--seconds",
        type=float,
        default=5.0,
        help="after so many spent on a kind of question a peer is asked no more of it; default: %(default)s",
    )
    options = parser.parse_args(arguments)
    if options.lake and not options.archive:
        parser.error("--lake needs --archive, from which it was made")
    with benchmark_archive(options.archive) as archive, benchmark_lake(options.lake, archive) as lake:
        print(run(archive, lake, Patience(options.rounds, options.seconds)))


if __name__ == "__main__":
    main()
