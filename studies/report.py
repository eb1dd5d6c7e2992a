"""The tables of studies/README.md: `python -m studies.report` computes them from the committed archive."""

import argparse
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from studies.reading import StoredStudy, read_archive

ARCHIVE_FILE = Path(__file__).with_name("data") / "bundled.tar.bz2"
GOALS_FILE = Path(__file__).with_name("goals.toml")
SPANS = ((1, 16), (16, 128), (128, 1024))


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
    """Return the goals of goals.toml, in the order of the file."""
    rows = tomllib.loads(file.read_text(encoding="utf-8"))["goal"]
    return [Goal(**row | {"not_reached": tuple(row.get("not_reached", ()))}) for row in rows]


def steps_to_result(studies: dict[int, StoredStudy], goal: Goal) -> dict[int, int]:
    """Return steps by batch size, ascending; a batch size that does not reach the goal is absent."""
    best = {batch_size: studies[batch_size].best(goal.metric, goal.target) for batch_size in sorted(studies)}
    return {batch_size: hit[2] for batch_size, hit in best.items() if hit}


def speed_up(steps: dict[int, int], first: int, last: int) -> str:
    """Return the ratio of the steps of batch sizes `first` and `last`; perfect scaling gives last / first."""
    return f"{steps[first] / steps[last]:.1f}" if first in steps and last in steps else "-"


def goal_table(studies: dict[str, dict[int, StoredStudy]], goals: list[Goal]) -> str:
    """Markdown: a row per goal, and per batch size the steps to result; how many times fewer over each span."""
    batch_sizes = sorted({size for by_size in studies.values() for size in by_size})
    titles = ["workload", "goal", *map(str, batch_sizes), *(f"{first} to {last}" for first, last in SPANS)]
    lines = [titles, ["---", *["--:"] * (len(titles) - 1)]]
    for goal in goals:
        steps = steps_to_result(studies[goal.workload], goal)
        counts = [str(steps.get(size, "never")) for size in batch_sizes]
        lines.append([short_name(goal), f"{goal.target:g}", *counts, *(speed_up(steps, *span) for span in SPANS)])
    return markdown(lines)


def short_name(goal: Goal) -> str:
    """Model and optimizer."""
    return f"{goal.model} {goal.optimizer}"


def markdown(lines: list[list[str]]) -> str:
    """Return a table of cells."""
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def report(studies: dict[str, dict[int, StoredStudy]], goals: list[Goal]) -> str:
    """All tables: one per metric and kind of goal (common to all workloads, or a workload's own)."""
    uses = Counter((goal.metric, goal.target) for goal in goals)
    sections = []
    for metric in sorted({goal.metric for goal in goals}):
        of_metric = [goal for goal in goals if goal.metric == metric]
        common = [goal for goal in of_metric if uses[metric, goal.target] == len(studies)]
        for kind, rows in (("common goal", common), ("own goals", [goal for goal in of_metric if goal not in common])):
            if rows:
                sections += [f"### {metric}, {kind}", goal_table(studies, rows)]
    return "\n\n".join(sections)


if __name__ == "__main__":
    flags = argparse.ArgumentParser(prog="python -m studies.report", description=__doc__)
    flags.add_argument("--archive", type=Path, default=ARCHIVE_FILE)
    flags.add_argument("--goals", type=Path, default=GOALS_FILE)
    options = flags.parse_args()
    print(report(read_archive(options.archive), load_goals(options.goals)))
