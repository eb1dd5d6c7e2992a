"""The core questions to the tree of another commit and to this one, in turn: `python -m bench.in_turn COMMIT`.

The other tree is cloned and set up, and each tree makes a lake of the same archive, which takes minutes; `--folder`
keeps all three for another run. Both services run, and each question is put to one of them and then to the other, so
that whatever else the machine does slows both. A ratio above 1.1 is a fault of a change since: exit status 1.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from urllib.parse import urlencode

from bench.analysis import queries
from bench.archive import write_archive
from bench.lakes import temporary_folder
from bench.measure import machine, milliseconds
from bench.peers.drawing import drawable_workloads
from bench.peers.drawing import questions as drawn
from bench.peers.questions import Best, Curve, Kind, Sweep
from bench.plan import Scale
from bench.scaling import LANGUAGE_LOSS, LOSS, ScalingQuestion, questions
from bench.servers import NO_ANSWERS_KEPT, Server, get, service
from losslake.lake.lake import Lake
from losslake.questions import compare, critical_batch_size
from losslake.questions.release.view import ReleaseView

MOST = 1.1
_IN_PROCESS = 4
HERE = Path(__file__).parents[1]
# Questions of each kind in one of those about one workload, so that each takes about as long together.
_SHARES = {"all workloads": 0.1, "all curves of a study": 0.2, "50 targets": 0.2}


@dataclass(frozen=True)
class Tree:
    """A checkout that is set up, and a lake that it made. scaling: milliseconds in-process, by round."""

    folder: Path
    lake: Path
    scaling: list[float] = field(default_factory=list)

    def program(self, name: str) -> str:
        """Return the path of a program of its environment."""
        return str(self.folder / ".venv/bin" / name)

    def run(self, *arguments: str) -> str:
        """Run a module there; return what it prints."""
        command = [self.program("python"), "-m", *arguments]
        return subprocess.run(command, cwd=self.folder, check=True, stdout=subprocess.PIPE, text=True).stdout

    def measure_scaling(self, count: int) -> None:
        """Measure the scaling question in-process, by its own benchmark."""
        lines = self.run("bench.scaling", "--lake", str(self.lake), "--questions", str(count)).splitlines()
        (line,) = (line for line in lines if line.startswith("scaling, in-process"))
        self.scaling.append(float(line.partition("median")[2].split()[0]))


def made(folder: Path, commit: str) -> tuple[Tree, Tree]:
    """Return the tree of a commit and this one, each with a lake of one archive; make what isn't in the folder yet."""
    archive, other = folder / "archive.tar.bz2", folder / commit
    if not archive.exists():
        write_archive(archive, Scale())
    if not other.exists():
        subprocess.run(["git", "clone", "--quiet", str(HERE), str(other)], check=True)
        subprocess.run(["git", "checkout", "--quiet", commit], cwd=other, check=True)
        subprocess.run(["make", "setup"], cwd=other, check=True, stdout=subprocess.DEVNULL)
    this = subprocess.run(["git", "rev-parse", "HEAD"], cwd=HERE, check=True, stdout=subprocess.PIPE, text=True)
    trees = Tree(other, folder / f"lake-{commit}"), Tree(HERE, folder / f"lake-{this.stdout.strip()}")
    for tree in trees:
        if not tree.lake.exists():
            tree.run("losslake", "ingest", str(archive), "--lake", str(tree.lake))
    return trees


def paths(view: ReleaseView, count: int) -> Iterator[tuple[str, list[str]]]:
    """Yield what is asked, and the addresses of so many questions; fewer of those that take long."""
    everywhere = tuple(name for name, facts in view.workloads.items() if LOSS.name in facts.measured)
    chance = random.Random(1)
    targets = (chance.uniform(LOSS.lowest, LANGUAGE_LOSS.highest) for _ in range(count))
    synthetic = drawable_workloads(view)

    def of(kind: Kind, path: Callable[..., str]) -> list[str]:
        return [path(question) for question in islice(drawn(synthetic, kind), count)]

    kinds = {
        "one workload": [question.path for question in questions(view, count)],
        "all workloads": [ScalingQuestion(everywhere, LOSS.name, target).path for target in targets],
        "one curve": of(Kind.CURVE, lambda curve: _curves(curve, "trial")),
        "all curves of a study": of(Kind.CURVE, lambda curve: _curves(curve, "study")),
        "best in a budget": of(Kind.BEST, _best),
        "50 targets": of(Kind.SWEEP, _targets),
    }
    for question in (compare.QUESTION, critical_batch_size.QUESTION):
        kinds[question.subject] = [f"{question.path}?{query}" for query in queries(question, view, count)]
    for name, of_kind in kinds.items():
        yield name, of_kind[: max(1, round(count * _SHARES.get(name, 1)))]


def _curves(question: Curve, of: str) -> str:
    return f"/v1/curves?{urlencode({of: getattr(question, of), 'metric': question.metric})}"


def _best(question: Best) -> str:
    aim = question.aim
    query = {"workload": aim.workload, "metric": aim.metric, "step_budget": question.step_budget}
    return f"/v1/best?{urlencode(query)}"


def _targets(question: Sweep) -> str:
    query = {"workload": question.aim.workload, "metric": question.aim.metric, "target": question.targets}
    return f"/v1/targets?{urlencode(query, doseq=True)}"


def in_turn(connections: Sequence[HTTPConnection], asked: Sequence[str], rounds: int) -> list[float]:
    """Return the median milliseconds of an answer over each connection; the first question is asked once before."""
    times: list[list[float]] = [[] for _ in connections]
    for connection in connections:
        get(connection, asked[0])
    for path in [*asked] * rounds:
        for connection, of_connection in zip(connections, times, strict=True):
            of_connection.append(milliseconds(get, connection, path))
    return [statistics.median(of_connection) for of_connection in times]


def compared(other: Tree, this: Tree, count: int, rounds: int) -> Iterator[tuple[str, float, float]]:
    """Yield for each kind of question the median milliseconds of the other tree and of this one."""
    for _ in range(rounds):
        for tree in (other, this):
            tree.measure_scaling(count * _IN_PROCESS)
    yield "one workload, in-process", statistics.median(other.scaling), statistics.median(this.scaling)
    lake = Lake.open(this.lake)
    view = ReleaseView.open(lake, lake.release())
    with ExitStack() as stack:

        def served(tree: Tree) -> Server:
            return stack.enter_context(service(tree.lake, 1, NO_ANSWERS_KEPT, [tree.program("losslake")]))

        connections = [stack.enter_context(closing(served(tree).connect())) for tree in (other, this)]
        for name, asked in [("/healthz, the floor", ["/healthz"] * count), *paths(view, count)]:
            before, now = in_turn(connections, asked, rounds)
            yield name, before, now


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", help="of the other tree; default: --tree")
    there = ("DIR", "ITS_LAKE", "LAKE")
    parser.add_argument("--tree", type=Path, nargs=3, metavar=there, help="a tree that is set up, and the two lakes")
    parser.add_argument(
        "--folder", type=Path, help="where to make the archive, the other tree and the lakes; they stay"
    )
    parser.add_argument("--questions", type=int, default=100, help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    options = parser.parse_args(arguments)
    if bool(options.commit) == bool(options.tree):
        parser.error("give a commit, or a tree with both lakes")
    print(f"{machine()}\n\n| what | other, ms | this, ms | this / other |\n| --- | ---: | ---: | ---: |", flush=True)
    is_slower = False
    with temporary_folder() as temporary:
        if options.commit:
            trees = made(options.folder or temporary, options.commit)
        else:
            trees = Tree(*options.tree[:2]), Tree(HERE, options.tree[2])
        for name, before, now in compared(*trees, options.questions, options.rounds):
            print(f"| {name} | {before:,.2f} | {now:,.2f} | {now / before:.2f} |", flush=True)
            is_slower |= now / before > MOST
    return int(is_slower)


if __name__ == "__main__":
    sys.exit(main())
