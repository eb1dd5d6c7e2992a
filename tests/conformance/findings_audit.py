"""The numbers of docs/findings.md a second time, in plain Python from the tables of a release, without its analyses.

`python -m tests.conformance.findings_audit LAKE` prints each beside that of the document, and fails if any differs.
"""

from __future__ import annotations

import math
import operator
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from losslake.lake.lake import Lake
from losslake.questions.release.known_names import display_name
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.league_studies import leagues
from losslake_schema.names import Workload
from tests.league_oracle import found_in

DOCUMENT = Path(__file__).parents[2] / "docs" / "findings.md"
TEMPLATE = resources.files("studies.reports").joinpath("findings.md").read_text("utf-8")
ABOUT = tomllib.loads(resources.files("studies.reports").joinpath("findings.toml").read_text("utf-8"))
_AUDITED = re.compile(r"^\| (.*?) \| \$(\w+) \|", re.MULTILINE)
NUMBER = re.compile(r"\d[\d,]*\.?\d*")
TOLERANCE = 0.01
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Trial:
    """A trial with its first hit of the target, None for never, and the evaluation before that."""

    key: tuple[str, int]
    size: int
    status: str
    trained: int
    hit: int | None
    before: int
    setting: str
    submitter: str
    round: str
    also_in: tuple[str, ...]
    n_other_bytes: int
    study_steps: int | None


@dataclass(frozen=True)
class Result:
    """The best setting of a batch size: the median steps of its trials, and the evaluation before."""

    size: int
    steps: int
    before: int
    n_trials: int
    n_seeds: int


@dataclass(frozen=True)
class Audited:
    """A benchmark's trials; results: by batch size. Everything as docs/analysis.md defines it."""

    name: str
    path: str
    trials: Sequence[Trial]

    @cached_property
    def admitted(self) -> list[Trial]:
        return [trial for trial in self.trials if trial.status != "INCOMPLETE"]

    @cached_property
    def results(self) -> list[Result]:
        return results_of(self.admitted)

    @cached_property
    def counted(self) -> list[Result]:
        """Without batch sizes that were tuned worse than others."""
        return [
            row
            for row in self.results
            if min(row.steps, row.before) * row.size
            <= 1.15 * min(other.steps * other.size for other in self.results if other.size >= row.size)
            and min(row.steps, row.before)
            <= 1.15 * min(other.steps for other in self.results if other.size <= row.size)
        ]

    @cached_property
    def fewest(self) -> int:
        return min(row.steps * row.size for row in self.counted)

    @cached_property
    def perfect(self) -> str:
        sizes = [row.size for row in self.counted]
        within = [row.size for row in self.counted if row.steps * row.size <= 1.2 * self.fewest]
        sign = "≥ " if within[-1] == sizes[-1] else "≤ " if within[-1] <= 1.2 * within[0] else ""
        return f"{sign}{within[-1]:,}"

    @cached_property
    def useful(self) -> str:
        rows = self.counted
        useful = next(
            row.size for at, row in enumerate(rows) if row.steps <= 1.1 * min(later.steps for later in rows[at:])
        )
        is_open = rows[-1].size <= 1.1 * useful
        return f"{'≥ ' if is_open else '≤ ' if useful == rows[0].size else ''}{useful:,}"

    @cached_property
    def critical(self) -> float:
        return critical_batch_size([(row.size, row.steps) for row in self.counted])

    @cached_property
    def change(self) -> list[str] | None:
        """The cells of part 4 after the name."""
        names = sorted({trial.round for trial in self.trials if trial.round}, key=lambda name: [*map(int, parts(name))])
        rounds = {
            name: {
                row.size: row
                for row in results_of([each for each in self.admitted if name in (each.round, *each.also_in)])
                if row.n_seeds >= 3
            }
            for name in names
        }
        pairs = [pair for pair in combinations(names, 2) if len(rounds[pair[0]].keys() & rounds[pair[1]].keys()) >= 3]
        if not pairs:
            return None
        first, last = min(pairs, key=lambda pair: (names.index(pair[0]), -names.index(pair[1])))
        common = sorted(rounds[first].keys() & rounds[last].keys())
        both = [(rounds[first][size], rounds[last][size]) for size in common]
        ratios = sorted(after.steps / before.steps for before, after in both)
        spacing = median((row.steps - row.before) / row.steps for pair in both for row in pair)
        n_trials = [sum(pair[place].n_trials for pair in both) for place in (0, 1)]
        spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
        rounded = [f"{median(ratios):.2f}", spread, f"{spacing:.2f}"]
        return [f"v{first} → v{last}", str(len(common)), f"{n_trials[0]:,} → {n_trials[1]:,}", *rounded]


def parts(name: str) -> list[str]:
    return re.findall(r"\d+", name)


def results_of(trials: Sequence[Trial]) -> list[Result]:
    """Return the best setting of each batch size that reached the target."""
    results = []
    for size in sorted({trial.size for trial in trials}):
        of_size = sorted((each for each in trials if each.size == size), key=lambda each: each.key)
        settings: dict[str, list[Trial]] = defaultdict(list)
        for trial in of_size:
            settings[trial.setting].append(trial)
        large = [seeds for seeds in settings.values() if len(seeds) >= 3]
        medians = []
        for seeds in large or settings.values():
            ordered = sorted(seeds, key=lambda each: math.inf if each.hit is None else each.hit)
            middle = ordered[(len(ordered) - 1) // 2]
            if middle.hit is not None:
                medians.append(Result(size, middle.hit, middle.before, len(of_size), len(seeds)))
        if medians:
            results.append(min(medians, key=lambda row: row.steps))
    return results


def critical_batch_size(curve: Sequence[tuple[int, int]]) -> float:
    """Return B_c of S = S_min (1 + B_c/B): Huber's loss beyond 1.345 scales, 1.4826 x MAD around the L1 fit."""

    def above(log_b_c: float) -> list[float]:
        return [math.log(steps / (1 + math.exp(log_b_c) / size)) for size, steps in curve]

    def absolute(log_b_c: float) -> list[float]:
        logs = above(log_b_c)
        middle = median(logs)
        return sorted(abs(each - middle) for each in logs)

    def huber(log_b_c: float) -> float:
        logs = above(log_b_c)
        low, high = min(logs), max(logs)
        for _ in range(60):
            middle = (low + high) / 2
            pull = sum(max(-bound, min(bound, each - middle)) for each in logs)
            low, high = (middle, high) if pull > 0 else (low, middle)
        gaps = [abs(each - low) for each in logs]
        return sum(gap * gap / 2 if gap <= bound else bound * (gap - bound / 2) for gap in gaps)

    around = (math.log(curve[0][0] / 100), math.log(curve[-1][0] * 100))
    at = least(lambda log_b_c: sum(absolute(log_b_c)), *around)
    bound = 1.345 * max(1.4826 * median(absolute(at)[2:]), 0.005)
    return math.exp(least(huber, *around))


def least(loss: Callable[[float], float], low: float, high: float) -> float:
    """Return the place of the least loss: the best of a grid, refined around itself."""
    at = low
    for _ in range(7):
        places = [low + (high - low) * step / 40 for step in range(41)]
        at, gap = min(places, key=loss), (high - low) / 40
        low, high = at - gap, at + gap
    return at


def audited(view: ReleaseView) -> list[Audited]:
    """Return the benchmarks of the document, in its order: by pattern, metric and target."""
    rows = sql(view, "SELECT collection, dataset, model, batch_size FROM studies")
    sizes: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for *place, size in rows:
        if place[0] in ABOUT["collections"]:
            sizes[tuple(place)].add(size)
    goals = sorted(set(sql(view, "SELECT collection, dataset, model, metric, target, comparator FROM goals")), key=str)
    joined = {goal[:3] for goal in goals if goal[3] in ABOUT["joined"]}
    return [
        _audited(view, *goal)
        for goal in goals
        if len(sizes[goal[:3]]) >= ABOUT["least_batch_sizes"] and (goal[3] in ABOUT["joined"] or goal[:3] not in joined)
    ]


def _audited(
    view: ReleaseView, collection: str, dataset: str, model: str, metric: str, target: float, comparator: str
) -> Audited:
    place = {"collection": collection, "dataset": dataset, "model": model}
    ((direction,),) = sql(view, "SELECT direction FROM metrics WHERE metric = $metric", {"metric": metric})
    reaches: Callable[[float, float], bool] = {
        ("minimize", "inclusive"): operator.le,
        ("minimize", "strict"): operator.lt,
        ("maximize", "inclusive"): operator.ge,
        ("maximize", "strict"): operator.gt,
    }[direction, comparator]
    curves: dict[tuple[str, int, int], list[tuple[int, float]]] = defaultdict(list)
    for optimizer, size, trial_id, step, value in sql(view, _CURVES, place | {"metric": metric}):
        curves[optimizer, size, trial_id].append((step, value))
    trials = []
    for row in sql(view, _TRIALS, place):
        optimizer, size, trial_id, status, steps, last, attributes, sha256, copies, study_steps = row
        facts = {name: str(value).strip('"') for name, value in attributes.items()}
        curve = curves[optimizer, size, trial_id]
        hits = [at for at, (_, value) in enumerate(curve) if not math.isnan(value) and reaches(value, target)]
        system = facts.get("submission_platform", facts.get("system"))
        trials.append(
            Trial(
                key=(optimizer, trial_id),
                size=size,
                status=status,
                trained=max(steps or 0, last),
                hit=curve[hits[0]][0] if hits else None,
                before=curve[hits[0] - 1][0] if hits and hits[0] else 0,
                setting=f"{optimizer} {facts['org']} {system}",
                submitter=facts["org"],
                round=facts["round"],
                also_in=tuple(name.strip('"') for name, _ in copies),
                n_other_bytes=sum(other != sha256 for _, other in copies),
                study_steps=study_steps,
            )
        )
    pool = Workload(collection, dataset, model, "*")
    part = collection.partition("/")[2]
    name = f"{display_name('model', pool)}, {display_name('dataset', pool)}" + f" ({part})" * bool(part)
    return Audited(name, f"{collection}/{dataset}/{model}", [*_with_missed(trials)])


_CURVES = """
SELECT optimizer, batch_size, trial_id, step, value FROM measurements
WHERE collection = $collection AND dataset = $dataset AND model = $model AND metric = $metric ORDER BY ALL
"""
_TRIALS = """
SELECT
    t.optimizer, t.batch_size, t.trial_id, t.status, t.steps, t.last_step, t.attributes, t.source_sha256,
    coalesce(c.logs, []), s.train_steps
FROM base.trials AS t
JOIN studies AS s USING (collection, dataset, model, optimizer, batch_size)
LEFT JOIN (
    SELECT
        collection, dataset, model, optimizer, batch_size, trial_id,
        list((attributes['round'], source_sha256)) AS logs
    FROM copies GROUP BY ALL
) AS c USING (collection, dataset, model, optimizer, batch_size, trial_id)
WHERE t.collection = $collection AND t.dataset = $dataset AND t.model = $model
"""


def _with_missed(trials: Sequence[Trial]) -> Iterator[Trial]:
    """Yield the trials; an INCOMPLETE one that used its schedule, or as long as the slowest that reached, is MISSED."""
    slowest: dict[Any, int] = defaultdict(int)
    for trial in trials:
        if trial.status == "COMPLETE" and trial.hit is not None:
            for of in ((trial.key[0], trial.size), (trial.size, trial.setting)):
                slowest[of] = max(slowest[of], trial.hit)
    for trial in trials:
        of_setting, of_study = slowest[trial.size, trial.setting], slowest[trial.key[0], trial.size]
        enough = [of_setting or of_study, trial.study_steps or 0]
        is_missed = trial.status == "INCOMPLETE" and trial.hit is None and trial.trained > 0
        if is_missed and any(0 < steps <= trial.trained for steps in enough):
            yield replace(trial, status="MISSED")
        else:
            yield trial


def sql(view: ReleaseView, statement: str, parameters: Mapping[str, Any] | None = None) -> Rows:
    return view.cursor().sql(statement, params=dict(parameters or {})).fetchall()


def best_score(view: ReleaseView) -> str:
    """Return AlgoPerf's best submission to external tuning and its score, from seconds of evaluations at the target."""
    collection = ABOUT["algoperf"]["collections"][0]
    scores = found_in(view, collection, leagues()[collection].workloads).scores
    best = max(scores, key=scores.__getitem__)
    return f"{best} {scores[best]:.4f}"


def numbers(view: ReleaseView, known: Sequence[Audited]) -> Mapping[str, str]:
    """Return the numbers of the audit table by their name in the template."""
    by_path = {each.path: each for each in known}
    resnet, bert, first = (by_path[ABOUT["pools"][name]] for name in ("resnet", "bert", "first_resnet"))
    trials = [trial for each in known for trial in each.trials]
    counts = [sum(trial.size == size for trial in each.admitted) for each in known for size in _sizes(each.trials)]
    changes = [[float(cell) for cell in (each.change[3], each.change[5])] for each in known if each.change]
    ends = [each.useful.isascii() for each in known]

    def reached(of: Audited, size: int) -> str:
        hits = [trial.hit is not None for trial in of.trials if trial.size >= size]
        return f"{sum(hits)} of {len(hits)}"

    return {
        "n_trials": str(sql(view, "SELECT count(*) FROM base.trials")[0][0]),
        "n_reached": str(sum(trial.status == "COMPLETE" and trial.hit is not None for trial in trials)),
        "n_missed": str(sum(trial.status == "MISSED" for trial in trials)),
        "n_incomplete": str(sum(trial.status == "INCOMPLETE" for trial in trials)),
        "n_copies": str(sum(len(trial.also_in) for trial in trials)),
        "n_other_bytes": str(sum(trial.n_other_bytes for trial in trials)),
        "n_resnet_alone": str(_of_one_submitter(resnet)),
        "least_seeds": str(min(counts)),
        "most_seeds": str(max(counts)),
        "resnet_perfect": resnet.perfect,
        "resnet_useful": resnet.useful,
        "resnet_size": f"{resnet.critical:.1f}",
        "bert_size": f"{bert.critical:.1f}",
        "n_useful_inside": f"{sum(ends)} of {len(ends)}",
        "lars_trials": reached(resnet, 32768),
        "sgd_trials": reached(first, 16384),
        "n_fewer": f"{sum(middle < 1 - spacing for middle, spacing in changes)} of {len(changes)}",
        "best_score": best_score(view),
    }


def _sizes(trials: Sequence[Trial]) -> list[int]:
    return sorted({trial.size for trial in trials})


def _of_one_submitter(of: Audited) -> int:
    return sum(len({trial.submitter for trial in of.trials if trial.size == size}) == 1 for size in _sizes(of.trials))


def cells(each: Audited) -> Iterator[tuple[str, str]]:
    """Yield the beginning of each row of the document's tables about a benchmark, up to the last cell that is given."""
    sizes = _sizes(each.trials)
    counts = [sum(trial.size == size for trial in each.admitted) for size in sizes]
    status = {name: sum(trial.status == name for trial in each.trials) for name in ("MISSED", "INCOMPLETE")}
    complete = [trial.hit is not None for trial in each.trials if trial.status == "COMPLETE"]
    copies = sum(len(trial.also_in) for trial in each.trials)
    after = [*status.values(), copies, len(sizes), _of_one_submitter(each)]
    yield "part 1", f"{sum(complete)} of {len(complete)} {' '.join(map(str, after))} {min(counts)} to {max(counts)}"
    counted = [row.size for row in each.counted]
    of_counted = [trial for trial in each.admitted if trial.size in counted]
    yield "part 3, batch sizes", f"{len(counted)} of {len(each.results)}: {counted[0]} to {counted[-1]}"
    yield "part 3, B_c", f"{each.critical:.2f}"
    yield "part 3, perfect scaling until", each.perfect
    yield "part 3, useful until", each.useful
    yield "part 3, lost", f"{each.counted[-1].steps * each.counted[-1].size / each.fewest:.4f}"
    yield "part 3, trials, submitters", f"{len(of_counted)}, {len({trial.submitter for trial in of_counted})}"
    if each.change:
        yield "part 4", " ".join(each.change)


def stated(document: str, each: Audited) -> dict[str, str]:
    """Return what the document's tables say of a benchmark, by the names of `cells`."""
    rows = [line.strip("| \n").split(" | ") for line in document.splitlines() if line.startswith("| ")]
    (logs,) = (row for row in rows if row[0] == each.name and row[1].count("→") == 0)
    (sizes,) = (row for row in rows if len(row) == 9 and row[1].startswith(f"{each.name}: "))
    found = {
        "part 1": " ".join(logs[2:]),
        "part 3, batch sizes": sizes[2],
        "part 3, perfect scaling until": sizes[5].partition(" (")[0],
        "part 3, useful until": sizes[6].partition(" (")[0],
        "part 3, lost": sizes[7],
        "part 3, trials, submitters": sizes[8],
    }
    if NUMBER.match(sizes[3]) and "(" in sizes[3]:
        found["part 3, B_c"] = sizes[3].partition(" (")[0]
    for row in rows:
        if row[0] == each.name and "→" in row[1]:
            found["part 4"] = " ".join(row[1:])
    return found


def differences(document: str, view: ReleaseView) -> list[tuple[str, str, str, bool]]:
    """Return what is stated, its number in the document, the one recomputed, and whether they agree."""
    known = audited(view)
    again = numbers(view, known)
    table = {statement: again[key] for statement, key in _AUDITED.findall(TEMPLATE.partition("## 6.")[2])}
    rows = [line.strip("| ").split(" | ") for line in document.partition("## 6.")[2].splitlines() if line[:2] == "| "]
    compared = [(row[0], row[1], table.pop(row[0])) for row in rows if row[0] in table]
    compared += [(statement, "not in the document", number) for statement, number in table.items()]
    for each in known:
        said, recomputed = stated(document, each), dict(cells(each))
        compared += [(f"{each.name}, {name}", said[name], recomputed.get(name, "nothing")) for name in said]
    return [(*row, agree(row[1], row[2])) for row in compared]


def agree(first: str, second: str) -> bool:
    """Return True for the same words and the same numbers, but for rounding."""
    words = [NUMBER.sub("#", text.replace("*", "").replace(" x", "")).split() for text in (first, second)]
    values = [[float(each.replace(",", "")) for each in NUMBER.findall(text)] for text in (first, second)]
    return words[0] == words[1] and all(
        math.isclose(one, other, rel_tol=TOLERANCE) for one, other in zip(*values, strict=True)
    )


def main() -> int:
    lake = Lake.open(sys.argv[1])
    rows = differences(DOCUMENT.read_text("utf-8"), ReleaseView.open(lake, lake.release(None)))
    for statement, said, again, is_equal in rows:
        print(f"{'' if is_equal else 'DIFFERS: '}{statement}: {said}; recomputed: {again}")
    print(f"{len(rows)} numbers, {sum(not row[3] for row in rows)} differ")
    return int(not all(row[3] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
