"""The tables of studies/README.md: `python -m studies.report` computes them from the committed archive."""

import argparse
import math
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from studies.reading import StoredStudy, read_archive

ARCHIVE_FILE = Path(__file__).with_name("data") / "bundled.tar.bz2"
GOALS_FILE = Path(__file__).with_name("goals.toml")
PERFECT_END_TAU = 0.2
MAX_USEFUL_TAU = 0.1
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


def perfect_end(steps: dict[int, int], tau: float = PERFECT_END_TAU) -> int | None:
    """Return the largest batch size up to which examples to the goal stay within 1 + tau of the least so far."""
    end, least = None, math.inf
    for batch_size, needed in sorted(steps.items()):
        least = min(least, batch_size * needed)
        if batch_size * needed > (1 + tau) * least:
            break
        end = batch_size
    return end


def max_useful(steps: dict[int, int], tau: float = MAX_USEFUL_TAU) -> int | None:
    """Return the smallest batch size whose steps are within 1 + tau of the least of all batch sizes from it on."""
    for batch_size in sorted(steps):
        if steps[batch_size] <= (1 + tau) * min(needed for size, needed in steps.items() if size >= batch_size):
            return batch_size
    return None


def hyperbola_knee(steps: dict[int, int]) -> float:
    """Return the batch size B_c of S(B) = S_min (1 + B_c / B), by least squares in log S on a fine grid of B_c."""

    def misfit(knee: float) -> float:
        residuals = [math.log(needed / (1 + knee / batch_size)) for batch_size, needed in steps.items()]
        mean = sum(residuals) / len(residuals)
        return sum((residual - mean) ** 2 for residual in residuals)

    return min((2 ** (power / 32) for power in range(-64, 32 * 14)), key=misfit)


def knee_interval(steps: dict[int, int]) -> str:
    """Return the knee, and its range when any one batch size is omitted."""
    knees = [hyperbola_knee({size: steps[size] for size in steps if size != left_out}) for left_out in steps]
    return f"{hyperbola_knee(steps):.0f} ({min(knees):.0f} to {max(knees):.0f})"


def speed_up(steps: dict[int, int], first: int, last: int) -> str:
    """Return the ratio of the steps of batch sizes `first` and `last`; perfect scaling gives last / first."""
    return f"{steps[first] / steps[last]:.1f}" if first in steps and last in steps else "-"


def goal_table(studies: dict[str, dict[int, StoredStudy]], goals: list[Goal]) -> str:
    """Markdown: a row per goal, and per batch size the steps to result."""
    batch_sizes = sorted({size for by_size in studies.values() for size in by_size})
    titles = ["workload", "goal", *map(str, batch_sizes)]
    lines = [titles, ["---", *["--:"] * (len(titles) - 1)]]
    for goal in goals:
        steps = steps_to_result(studies[goal.workload], goal)
        lines.append([short_name(goal), f"{goal.target:g}", *[str(steps.get(size, "never")) for size in batch_sizes]])
    return markdown(lines)


def regime_table(studies: dict[str, dict[int, StoredStudy]], goals: list[Goal]) -> str:
    """Markdown: a row per goal; where the regimes end, the knee, and what each of three spans of batch sizes saves."""
    titles = ["workload", "goal", "perfect until", "useful until", "knee", *(f"{a} to {b}" for a, b in SPANS)]
    lines = [titles, ["---", *["--:"] * (len(titles) - 1)]]
    for goal in goals:
        steps = steps_to_result(studies[goal.workload], goal)
        ends = [str(perfect_end(steps)), str(max_useful(steps)), knee_interval(steps)]
        lines.append([short_name(goal), f"{goal.target:g}", *ends, *(speed_up(steps, *span) for span in SPANS)])
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
                sections += [f"### {metric}, {kind}", goal_table(studies, rows), regime_table(studies, rows)]
    return "\n\n".join(sections)


if __name__ == "__main__":
    flags = argparse.ArgumentParser(prog="python -m studies.report", description=__doc__)
    flags.add_argument("--archive", type=Path, default=ARCHIVE_FILE)
    flags.add_argument("--goals", type=Path, default=GOALS_FILE)
    options = flags.parse_args()
    print(report(read_archive(options.archive), load_goals(options.goals)))
