"""LossLake against peers on the same data in the same run: `python -m bench.peers [--scale 0.1] [--rounds 15]`.

Every round asks each peer the same question, one after the other, and compares the answer with LossLake's bit for bit:
one that differs ends the run. What isn't given of an archive by --archive, --lake and --unpacked is made in a temporary
folder. The lake must be of that archive alone, with one release.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

from bench.peers.drawing import known_workloads, questions
from bench.peers.duckdb_parquet import DuckdbParquet
from bench.peers.losslake import LossLake, LossLakeOverHttp
from bench.peers.pandas_files import PandasFiles
from bench.peers.pandas_memory import PandasMemory
from bench.peers.peer import Peer
from bench.peers.places import Given, Places, places
from bench.peers.polars_parquet import PolarsParquet
from bench.peers.questions import Aim, Kind
from bench.peers.report import report
from bench.peers.sqlite_table import SqliteTable
from bench.peers.turns import Patience, PeerTimes, in_turn
from bench.plan import Scale
from bench.servers import service
from losslake.questions.release.view import ReleaseView
from losslake_schema.errors import LossLakeError

WITHOUT_CHDB = "chDB is not installed, so it is not asked: pip install chdb"


@contextmanager
def all_peers(data: Places, aims: Sequence[Aim]) -> Iterator[list[Peer]]:
    """Yield every installed peer, prepared for these aims."""
    with ExitStack() as open_peers:
        polars = PolarsParquet(data.lake.folder)
        sqlite = open_peers.enter_context(closing(SqliteTable(data.scratch / "peers.sqlite", polars, aims)))
        peers: list[Peer] = [
            PandasFiles(data.unpacked),
            PandasMemory(polars, aims),
            polars,
            DuckdbParquet(data.lake.folder),
            sqlite,
        ]
        if find_spec("chdb"):
            from bench.peers.chdb_parquet import ChdbParquet

            peers.append(open_peers.enter_context(closing(ChdbParquet(data.lake.folder))))
        else:
            print(WITHOUT_CHDB, file=sys.stderr)
        server = open_peers.enter_context(service(data.lake.folder, 1))
        yield [*peers, LossLakeOverHttp(server.port)]


def run(data: Places, patience: Patience, command: str) -> str:
    """Return the report."""
    release = data.lake.release()
    losslake = LossLake(ReleaseView.open(data.lake, release))
    known = known_workloads(losslake.view)
    times: list[PeerTimes] = []
    with all_peers(data, [one.aim for one in known]) as peers:
        for kind in Kind:
            times += in_turn(losslake, peers, kind, questions(known, kind), patience)
            print(f"asked: {kind.title}", file=sys.stderr)
        return report(command, release, losslake, peers, times)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archive", type=Path, help="an archive made by bench.archive")
    parser.add_argument("--lake", type=Path, help="a lake of that archive")
    parser.add_argument("--unpacked", type=Path, help="a folder into which that archive was unpacked")
    parser.add_argument(
        "--scale", type=float, default=Scale.size, help="of an archive to be made; default: %(default)s"
    )
    parser.add_argument("--rounds", type=int, default=15, help="at most; default: %(default)s")
    parser.add_argument(
        "--seconds",
        type=float,
        default=5.0,
        help="after so many spent on a kind of question a peer is asked no more of it; default: %(default)s",
    )
    given = parser.parse_args(arguments)
    command = shlex.join(["python", "-m", "bench.peers", *(sys.argv[1:] if arguments is None else arguments)])
    try:
        with places(Given(given.archive, given.lake, given.unpacked, given.scale)) as data:
            print(run(data, Patience(given.rounds, given.seconds), command))
    except LossLakeError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
