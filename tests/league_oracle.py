"""AlgoPerf's times, steps and scores by brute force in plain Python, from every measurement.

`python -m tests.league_oracle LAKE` compares all competitions of a lake with the answers of /v1/analysis/league.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from losslake.lake.lake import Lake
from losslake.questions import league
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.league_studies import leagues

INF = math.inf
_EVALUATIONS = """
SELECT t.optimizer, t.dataset || '/' || t.model, t.attributes['study'], t.trial_id, m.value, g.target, d.direction,
    m.step, m.elapsed_s
FROM base.trials AS t
JOIN goals AS g USING (collection, dataset, model, optimizer)
JOIN metrics AS d USING (metric)
JOIN measurements AS m USING (collection, dataset, model, optimizer, batch_size, trial_id, metric)
WHERE t.collection = $collection AND g.source = 'AlgoPerf, validation_target_value'
ORDER BY ALL
"""
Key = tuple[str, str]


class Study(NamedTuple):
    """The least seconds and steps of any trial, the seconds of the one with the fewest evaluations, and the trials."""

    seconds: float
    steps: float
    by_evaluation: float
    n_trials: int


class Found(NamedTuple):
    """Hold what the oracle finds. studies: by submission and workload. scores, code_scores: by submission.

    code_scores: those of AlgoPerf's code, which takes the trial with the fewest evaluations.
    """

    studies: Mapping[Key, Sequence[Study]]
    scores: Mapping[str, float]
    code_scores: Mapping[str, float]


def studies_of(view: ReleaseView, collection: str) -> dict[Key, list[Study]]:
    """Read every evaluation, and return what each study takes to the target."""
    curves: dict[tuple[str, str, str, int], list[tuple[int, float, float | None, bool]]] = defaultdict(list)
    rows = view.cursor().sql(_EVALUATIONS, params={"collection": collection}).fetchall()
    for submission, place, study, trial, value, target, direction, step, elapsed in rows:
        reaches = value <= target if direction == "minimize" else value >= target
        curves[submission, place, study, trial].append((step, value, elapsed, reaches and math.isfinite(value)))
    trials: dict[tuple[str, str, str], list[tuple[float, float, int]]] = defaultdict(list)
    for (submission, place, study, _), curve in curves.items():
        hit = (INF, INF, 0)
        for index, (step, _, elapsed, reaches) in enumerate(sorted(curve, key=lambda point: point[0])):
            if reaches:
                hit = (INF if elapsed is None else elapsed, step, index)
                break
        trials[submission, place, study].append(hit)
    found: dict[Key, list[Study]] = defaultdict(list)
    for (submission, place, _), hits in sorted(trials.items()):
        earliest = min(((index, seconds) for seconds, _, index in hits if seconds < INF), default=(0, INF))[1]
        least, fewest = min(seconds for seconds, *_ in hits), min(steps for _, steps, _ in hits)
        found[submission, place].append(Study(least, fewest, earliest, len(hits)))
    return found


def score_of(times: Mapping[Key, float], variants: Mapping[str, str]) -> dict[str, float]:
    """Return AlgoPerf's scores. times: by submission and place; variants: of each workload, empty for none."""
    names = sorted({name for name, _ in times})
    valid = dict(times)
    for name in names:
        for workload, variant in variants.items():
            if variant and times.get((name, workload), INF) == INF:
                valid[name, variant] = INF

    def within(name: str, place: str) -> float:
        fastest = min(valid.get((each, place), INF) for each in names)
        time = valid.get((name, place), INF)
        return time if time <= 4 * fastest else INF

    def final(name: str, workload: str) -> float:
        variant = variants[workload]
        return INF if variant and within(name, variant) == INF else within(name, workload)

    scores = {}
    for name in names:
        ratios = [final(name, each) / min(final(other, each) for other in names) for each in variants]
        shares = [sum(ratio <= 1 + 3 * at / 99 for ratio in ratios) / len(ratios) for at in range(100)]
        scores[name] = (sum(shares) - (shares[0] + shares[-1]) / 2) / 99
    return scores


def found_in(view: ReleaseView, collection: str, variants: Mapping[str, str]) -> Found:
    """Return all of a competition, from its measurements."""
    places = {*variants, *variants.values()}
    studies = {key: each for key, each in studies_of(view, collection).items() if key[1] in places}
    by_rule, by_code = (
        score_of({key: median(study[at] for study in each) for key, each in studies.items()}, variants) for at in (0, 2)
    )
    return Found(studies, by_rule, by_code)


def differences(view: ReleaseView, collection: str) -> tuple[list[str], int]:
    """Return in words where the answer differs from the measurements, and how many numbers were compared."""
    found = found_in(view, collection, leagues()[collection].workloads)
    answer = league.QUESTION.answer(view, league.LeagueParameters(collection=collection))
    texts, n = [], 0

    def compare(what: str, ours: float | None, expected: float, tolerance: float = 0.0) -> None:
        nonlocal n
        n += 1
        value = INF if ours is None else ours
        if not (value == expected or abs(value - expected) <= tolerance):
            texts.append(f"{what}: {value} instead of {expected}")

    for row in answer.table().to_pylist():
        studies = found.studies.get((row["submission"], f"{row['dataset']}/{row['model']}"), ())
        what = f"{row['submission']} on {row['dataset']}/{row['model']}"
        for name, at in (("time_s", 0), ("steps", 1)):
            compare(f"{name} of {what}", row[name], median(study[at] for study in studies) if studies else INF)
        compare(f"studies of {what}", row["n_studies"], len(studies))
        compare(f"trials of {what}", row["n_trials"], sum(study.n_trials for study in studies))
        compare(f"reached studies of {what}", row["n_reached"], sum(study.seconds < INF for study in studies))
    assert {row["submission"] for row in answer.facts["scores"]} == set(found.scores)
    for row in answer.facts["scores"]:
        # The sums are of another order: they differ by rounding alone.
        compare(f"score of {row['submission']}", row["score"], found.scores[row["submission"]], 1e-12)
        compare(f"code's score of {row['submission']}", row["code_score"], found.code_scores[row["submission"]], 1e-12)
    return texts, n


def main() -> None:
    """Compare all competitions of a lake; exit with 1 if a number differs."""
    lake = Lake.open(Path(sys.argv[1]))
    view = ReleaseView.open(lake, lake.release(None))
    all_texts: list[str] = []
    for each in league.present_leagues(view):
        texts, n = differences(view, each.collection)
        print(f"{each.collection}: {n:,} numbers, {len(texts)} differences")
        all_texts += texts
    print("\n".join(all_texts), end="")
    sys.exit(bool(all_texts))


if __name__ == "__main__":
    main()
