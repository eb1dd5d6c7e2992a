"""The tables of studies/README.md: `python -m studies.report` computes them from the committed archive."""

import argparse
import math
import tomllib
from dataclasses import dataclass
from pathlib import Path

from studies.reading import StoredStudy, read_archive

ARCHIVE_FILE = Path(__file__).with_name("data") / "bundled.tar.bz2"
GOALS_FILE = Path(__file__).with_name("goals.toml")
PERFECT_END_TAU = 0.2
MAX_USEFUL_TAU = 0.1


@dataclass(frozen=True)
class Goal:
    """A target for one metric of one workload, and the batch sizes whose studies do not reach it."""

    collection: str
    dataset: str
    model: str
    optimizer: str
    metric: str
    target: float
    source: str
    not_reached: tuple[int, ...] = ()

    @property
    def workload(self) -> str:
        """Its directory in the archive."""
        return f"{self.dataset}/{self.model}/{self.optimizer}"


def load_goals(file: Path = GOALS_FILE) -> list[Goal]:
    """The goals of goals.toml, in the order of the file."""
    rows = tomllib.loads(file.read_text(encoding="utf-8"))["goal"]
    return [Goal(**row | {"not_reached": tuple(row.get("not_reached", ()))}) for row in rows]


def steps_to_result(studies: dict[int, StoredStudy], goal: Goal) -> dict[int, int]:
    """Steps by batch size, ascending; a batch size that does not reach the goal is absent."""
    best = {batch_size: studies[batch_size].best(goal.metric, goal.target) for batch_size in sorted(studies)}
    return {batch_size: found[2] for batch_size, found in best.items() if found}


def perfect_end(steps: dict[int, int], tau: float = PERFECT_END_TAU) -> int | None:
    """Largest batch size up to which examples to the goal stay within 1 + tau of the least so far."""
    end, least = None, math.inf
    for batch_size, needed in sorted(steps.items()):
        least = min(least, batch_size * needed)
        if batch_size * needed > (1 + tau) * least:
            break
        end = batch_size
    return end


def max_useful(steps: dict[int, int], tau: float = MAX_USEFUL_TAU) -> int | None:
    """Smallest batch size whose steps are within 1 + tau of the least of all batch sizes from it on."""
    for batch_size in sorted(steps):
        if steps[batch_size] <= (1 + tau) * min(needed for size, needed in steps.items() if size >= batch_size):
            return batch_size
    return None


def goal_table(studies: dict[str, dict[int, StoredStudy]], goals: list[Goal]) -> str:
    """Markdown: a row per goal, a column per batch size, then both ends of the regime of diminishing returns."""
    batch_sizes = sorted({size for by_size in studies.values() for size in by_size})
    titles = ["workload", "goal", *map(str, batch_sizes), "perfect until", "useful until"]
    lines = [titles, ["---", "---", *["--:"] * (len(titles) - 2)]]
    for goal in goals:
        steps = steps_to_result(studies[goal.workload], goal)
        cells = [str(steps.get(size, "never")) for size in batch_sizes]
        name = goal.workload.partition("/")[2].replace("/", " ")
        lines.append([name, f"{goal.target:g}", *cells, str(perfect_end(steps)), str(max_useful(steps))])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def report(archive: Path, goals: list[Goal]) -> str:
    """All tables: one per metric and kind of goal (common to all workloads, or a workload's own)."""
    studies = read_archive(archive)
    uses = {(goal.metric, goal.target): 0 for goal in goals}
    for goal in goals:
        uses[goal.metric, goal.target] += 1
    sections = []
    for metric in sorted({goal.metric for goal in goals}):
        for kind in ("common goal", "own goals"):
            rows = [
                goal
                for goal in goals
                if goal.metric == metric and (uses[metric, goal.target] == len(studies)) == (kind == "common goal")
            ]
            if rows:
                sections.append(f"{metric}, {kind}\n\n{goal_table(studies, rows)}")
    return "\n\n".join(sections)


if __name__ == "__main__":
    flags = argparse.ArgumentParser(prog="python -m studies.report", description=__doc__)
    flags.add_argument("--archive", type=Path, default=ARCHIVE_FILE)
    flags.add_argument("--goals", type=Path, default=GOALS_FILE)
    options = flags.parse_args()
    print(report(options.archive, load_goals(options.goals)))
