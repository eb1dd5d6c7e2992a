"""The page of optimizers: AlgoPerf's competitions with intervals and verdicts, and the records of modded-nanogpt."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from losslake.analysis.measured_levels import stated
from losslake.analysis.resampled_scores import ERROR
from losslake.questions import league, records
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.known_names import name_of_part
from losslake.questions.trials.batch_size_words import joined
from losslake.questions.trials.league_studies import submission_name
from losslake_schema.names import Workload, size_name
from losslake_service.web.page import Content, Page, PageKind, PageParameters, PageRequest
from losslake_service.web.starting_example import first_chart
from losslake_service.web.templates import first_few

PATH = "/optimizers"
_BASELINE = "baseline"
_INTERVAL = f"{stated('league interval')} interval"
# px of the bars of scores.
_BAR = 160
_MOST_NAMED = 4
Facts = Mapping[str, Any]


class OptimizersPageParameters(PageParameters):
    """The query of the page."""

    collection: str = ""
    """The competition; default: the first."""
    first: str = ""
    """A submission to compare; default: the one with the highest score."""
    second: str = ""
    """The other one; default: the baseline, or the next one."""


def optimizers_page(request: PageRequest) -> Page:
    """Return the page; raises BadParameter."""
    parameters: OptimizersPageParameters = request.parameters
    query = {"collection": parameters.collection} if parameters.collection else {}
    answer = league.QUESTION.answer(request.view, league.LeagueParameters.model_validate(query))
    facts, present = answer.facts, league.present_leagues(request.view)
    names = {each["submission"]: submission_name(each["submission"], facts["collection"]) for each in facts["scores"]}
    content: Content = {"leagues": present, "facts": facts, "names": names, **_records(request)}
    state: dict[str, str] = {}
    chart = None
    if present and names:
        first, second = _pair(parameters, facts)
        state = {"collection": facts["collection"], "first": first, "second": second}
        rows = answer.table().to_pylist()
        chosen = {"collection": facts["collection"]}
        title = f"Performance profiles: {facts['title']}"
        chart = request.chart("league", chosen, title, heading="Performance profiles")
        content |= {
            "leader": leader_in_words(facts, names),
            "interval": _INTERVAL,
            "scores": [_score(each, facts, names) for each in facts["scores"]],
            "differences": _differences(facts, names),
            "verdict": verdict_in_words(first, second, facts, names) if second else None,
            "compared": _compared(request, first, second, rows) if second else (),
            "tables": [_table(request, facts, rows, is_held_out) for is_held_out in (False, True)],
        }
    return Page(
        template="optimizers.html",
        title="Optimizers",
        description="AlgoPerf's submissions with intervals and verdicts on pairs; modded-nanogpt's records by date.",
        url=request.url(PATH, **state),
        content={**content, "state": state, "chart": chart, "bar": _BAR},
        picture=chart or first_chart(request),
        styles=("optimizers.css",),
        scripts=("optimizers.js",),
        data=chart.data("json") if chart else None,
    )


OPTIMIZERS = PageKind(PATH, OptimizersPageParameters, optimizers_page)


def _pair(parameters: OptimizersPageParameters, facts: Facts) -> tuple[str, str]:
    """Return the two submissions of the verdict; the second is empty if there is one only. Raises BadParameter."""
    names = [each["submission"] for each in facts["scores"]]
    for parameter, value in (("first", parameters.first), ("second", parameters.second)):
        if value and value not in names:
            raise BadParameter(
                parameter, f"{facts['collection']} has no submission {value}: give one of {joined(names)}"
            )
    first = parameters.first or next((name for name in names if name != parameters.second), "")
    if parameters.second:
        return first, parameters.second
    others = [name for name in names if name != first]
    return first, _BASELINE if _BASELINE in others else next(iter(others), "")


def leader_in_words(facts: Facts, names: Mapping[str, str]) -> str:
    """Return in words which submission leads, and whether clearly."""
    best = facts["scores"][0]
    leader = names[best["submission"]]
    text = f"{leader} has the highest score: {best['score']:.4f} ({_interval(best)})"
    of_leader = [pair for pair in facts["pairs"] if pair["first"] == best["submission"]]
    unclear = [names[pair["second"]] for pair in of_leader if pair["verdict"] != "before"]
    if not of_leader:
        return f"{text}. It is the only submission."
    if not unclear:
        return f"{text}. It is clearly before all others."
    if len(unclear) == len(of_leader):
        return f"{text}. It isn't clearly before any other."
    n_clear = len(of_leader) - len(unclear)
    clear = f"It is clearly before {n_clear} of {len(of_leader)} others"
    return f"{text}. {clear}; its lead over {first_few(unclear, _MOST_NAMED)} isn't clear."


def _interval(row: Facts) -> str:
    return f"{_INTERVAL} {row['lower']:.3f} to {row['upper']:.3f}"


def _score(row: Facts, facts: Facts, names: Mapping[str, str]) -> dict[str, Any]:
    """Return a row of the table of scores. bar, low, high: px."""
    before = [
        names[pair["second"]]
        for pair in facts["pairs"]
        if pair["first"] == row["submission"] and pair["verdict"] == "before"
    ]
    ends = {"bar": row["score"], "low": row["lower"], "high": row["upper"]}
    return {
        **row,
        "name": names[row["submission"]],
        "interval": f"{row['lower']:.3f} to {row['upper']:.3f}",
        "before": before,
        **{name: round(value * _BAR, 1) for name, value in ends.items()},
    }


def _differences(facts: Facts, names: Mapping[str, str]) -> list[str]:
    """Return in words how scores differ from the published ones."""
    published = [each for each in facts["scores"] if each["published"] is not None]
    others = [each for each in published if f"{each['score']:.4f}" != f"{each['published']:.4f}"]
    rounded = [each for each in others if abs(each["score"] - each["published"]) < 1e-4]
    texts = []
    if published:
        texts.append(
            f"{len(published) - len(others)} of {len(published)} scores equal the published ones to four digits."
        )
    texts += [
        f"{names[each['submission']]}: {each['score']:.5f} here, {each['published']:.4f} published: the digits after "
        "the fourth were cut."
        for each in rounded
    ]
    for each in others:
        if each in rounded:
            continue
        text = f"{names[each['submission']]}: {each['score']:.4f} here, {each['published']:.4f} published."
        if abs(each["code_score"] - each["published"]) < 1e-4:
            text += (
                " AlgoPerf's code takes the trial that reaches the target with the fewest evaluations, its rules the "
                f"one with the least time. By the rule of the code it is {each['code_score']:.4f} here, too."
            )
        texts.append(text)
    return texts


def verdict_in_words(first: str, second: str, facts: Facts, names: Mapping[str, str]) -> str:
    """Return in words whether one of two submissions is before the other."""
    if first == second:
        return f"{names[first]} and {names[second]} are the same submission: choose another one."
    pair = next(each for each in facts["pairs"] if {each["first"], each["second"]} == {first, second})
    ahead, behind = names[pair["first"]], names[pair["second"]]
    scores = {each["submission"]: each["score"] for each in facts["scores"]}
    is_clear = pair["verdict"] == "before"
    start = f"{ahead} is clearly before {behind}" if is_clear else f"No clear difference between {ahead} and {behind}"
    text = (
        f"{start}: {scores[pair['first']]:.4f} against {scores[pair['second']]:.4f}, a difference of "
        f"{pair['difference']:.3f} ({_interval(pair)})."
    )
    if not is_clear and pair["lower"] > 0:
        text += f" Its p-value is {pair['p_value']:.2g}"
        is_clear_alone = pair["p_value"] <= ERROR
        text += f", which isn't clear among {len(facts['pairs'])} pairs." if is_clear_alone else ", above 0.05."
    return text


def _compared(request: PageRequest, first: str, second: str, rows: Sequence[Facts]) -> list[tuple[str, str]]:
    """Return the links to comparisons of two submissions on each workload of both."""
    found = {(row["submission"], row["dataset"], row["model"]): row["workload"] for row in rows if row["workload"]}
    return [
        (_place(row), request.url("/compare", workload=[row["workload"], other]))
        for row in rows
        if row["submission"] == first and not row["is_held_out"] and row["workload"] and first != second
        if (other := found.get((second, row["dataset"], row["model"]))) is not None
    ]


def _place(row: Facts) -> str:
    return f"{name_of_part('dataset', row['dataset'])}, {name_of_part('model', row['model'])}"


def _table(request: PageRequest, facts: Facts, rows: Sequence[Facts], is_held_out: bool) -> dict[str, Any]:
    """Return the table of times: a column for each workload, a row for each submission by score."""
    chosen = [row for row in rows if row["is_held_out"] == is_held_out]
    places = list(dict.fromkeys(_place(row) for row in chosen))
    best: dict[str, float] = {}
    for row in chosen:
        if row["time_s"] is not None and (is_held_out or row["ratio"] is not None):
            best[_place(row)] = min(row["time_s"], best.get(_place(row), math.inf))
    lines = []
    for score in facts["scores"]:
        of_one = {_place(row): row for row in chosen if row["submission"] == score["submission"]}
        lines.append((score["submission"], [_cell(request, of_one[place], best.get(place)) for place in places]))
    return {"is_held_out": is_held_out, "places": places, "lines": lines}


def _cell(request: PageRequest, row: Facts, best: float | None) -> dict[str, Any]:
    url = request.page_url(Workload.parse(row["workload"])) if row["workload"] else None
    return {**row, "url": url, "is_best": row["time_s"] is not None and row["time_s"] == best}


def _records(request: PageRequest) -> Content:
    """Return the content about modded-nanogpt's records."""
    answer = records.QUESTION.answer(request.view, records.RecordsParameters())
    rows = [row for row in answer.table().to_pylist() if row["number"] is not None]
    tracks = []
    for name, track in records.TRACKS.items():
        of_track = [
            {**row, "url": request.url(f"/trials/{row['workload']}/{size_name(row['batch_size'])}/{row['trial_id']}")}
            for row in reversed(rows)
            if row["track"] == name
        ]
        if of_track:
            tracks.append({"track": track, "rows": of_track, "left_out": _gaps(name, answer.facts["left_out"])})
    chart = request.chart("records", {}, "modded-nanogpt: records by date", heading="Records by date", height=360)
    return {"tracks": tracks, "records_chart": chart if tracks else None, "records_facts": answer.facts}


def _gaps(track: str, left_out: Sequence[str]) -> list[str]:
    return [text.removeprefix(f"{track}: ") for text in left_out if text.startswith(f"{track}: ")]
