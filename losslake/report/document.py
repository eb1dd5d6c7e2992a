"""The report as a Markdown document, with its figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import losslake
from losslake.library.lake import Lake
from losslake.library.result import Figure
from losslake.report.comparison import Comparison, GoalReport, Reported, Row, StepsAt, StoredWorkload
from losslake.report.markdown import NOTHING, block, code, number, plain, shortened, table
from losslake.report.outlook import outlooks
from losslake_schema.errors import LossLakeError
from losslake_schema.names import size_name
from losslake_schema.quantities import counted, plural
from losslake_schema.statuses import COMPLETE, INCOMPLETE, INFEASIBLE, MISSED

MOST_FIGURES, MOST_ROWS, _MOST_COLUMNS = 8, 200, 8
_COUNTED = (COMPLETE, MISSED)
_WHY_NOT = {
    INCOMPLETE: "was stopped, or hadn't ended, so it isn't known what it would have reached",
    INFEASIBLE: "diverged",
}
_JUDGED = ("fewer", "more", "not told")


@dataclass(frozen=True)
class Frame:
    """The facts around a comparison.

    stored: the release to cite; None without stored trials. is_draft: the trials aren't in it. left_out: in words, what
    isn't among the trials, and why. commands: to make the report again.
    """

    stored: Lake | None
    is_draft: bool
    left_out: Sequence[str] = ()
    commands: Sequence[str] = ()


@dataclass(frozen=True)
class Document:
    """A report. figures: by the name of their file, without its ending."""

    text: str
    figures: dict[str, Figure]


def document(parts: Sequence[Reported], frame: Frame) -> Document:
    """Return the report of trials, by workload. Raises LossLakeError."""
    made = _Made({}, {})
    lines = ["# Training runs beside stored ones", "", *_introduction(parts, frame)]
    for place, part in enumerate(parts, 1):
        lines += _part(part, made, f"{place}-" if len(parts) > 1 else "")
    lines += [*_left_out(parts, frame), *_definitions(made), *_provenance(parts), *_reproduce(frame)]
    lines += _citations(parts, frame)
    return Document("\n".join(lines).rstrip() + "\n", made.figures)


@dataclass(frozen=True)
class _Made:
    """Figures and definitions, collected from the sections. definitions: of analyses, by name."""

    figures: dict[str, Figure]
    definitions: dict[str, str]


def _introduction(parts: Sequence[Reported], frame: Frame) -> Iterator[str]:
    n = sum(len(part.rows) for part in parts)
    names = ", ".join(code(part.workload) for part in parts)
    yield f"{counted(n, 'run')} of {names}, reported by LossLake {plain(losslake.__version__)}."
    if frame.stored is not None:
        release = _release(frame.stored)
        where = " The runs aren't among them: they were added to a copy for this report." if frame.is_draft else ""
        yield (
            f"Stored trials are those of release {release['release']} of a LossLake lake, of "
            f"{release['created_at']:%Y-%m-%d}, content digest {code('sha256:' + release['content_digest'])}.{where}"
        )
    else:
        yield "There is no release to compare them with."
    yield "Steps are updates of the parameters. A goal counts as reached at the first evaluation that reaches it."
    yield ""


def _release(stored: Lake) -> Row:
    """Return the release of the stored trials, as /v1/releases lists it."""
    number_ = stored.cite().release
    row: Row = next(each for each in stored.releases().to_dicts() if each["release"] == number_)
    return row


def _part(part: Reported, made: _Made, prefix: str) -> Iterator[str]:
    yield from [f"## {plain(part.workload)}", "", "### What was run", "", *_runs(part), ""]
    yield from _stored(part)
    if not part.goals:
        yield from ["### Steps to a goal", "", "Neither the runs nor the stored trials state a goal.", ""]
    for place, goal in enumerate(part.goals, 1):
        try:
            report = part.report(goal)
        except LossLakeError as error:
            yield from [f"### Steps to {plain(goal.metric)} {goal.target:g}", "", f"No answer: {plain(error)}.", ""]
            continue
        yield from [f"### Steps to {plain(report.text)}", "", *_goal(part, report, made)]
        name = f"{prefix}{place}-" if len(part.goals) > 1 else prefix
        yield from _figures(part, report, made.figures, name)


def label(row: Row) -> str:
    """Return the short name of a run in a report: its batch size and the number of its trial."""
    return f"{size_name(row['batch_size'])}/{row['trial_id']}"


def _runs(part: Reported) -> Iterator[str]:
    """Yield the runs with the facts in which they differ, after those that they share."""
    facts = [
        {**row["parameters"], **{name: _text(value) for name, value in row["attributes"].items()}} for row in part.rows
    ]
    names = list(dict.fromkeys(name for each in facts for name in each))
    shared = [name for name in names if all(each.get(name) == facts[0].get(name) for each in facts)]
    varied = [name for name in names if name not in shared]
    if shared:
        stated = ", ".join(f"{code(name)} {_fact(facts[0][name])}" for name in shared)
        yield f"Shared by {'all runs' if len(facts) > 1 else 'the run'}: {stated}."
        yield ""
    shown = varied[:_MOST_COLUMNS]
    columns = ["run", "batch size", *map(code, shown), "status", "steps", "evaluations"]
    cells = [
        [
            label(row), size_name(row["batch_size"]), *(_fact(each.get(name)) for name in shown), row["status"],
            number(row["last_step"]), number(row["n_evaluations"]),
        ]
        for row, each in zip(part.rows, facts, strict=True)
    ]  # fmt: skip
    yield from table(columns, cells[:MOST_ROWS])
    yield ""
    if len(cells) > MOST_ROWS:
        yield f"{len(cells) - MOST_ROWS:,} more runs are counted below, and not listed."
    if len(varied) > len(shown):
        yield f"The runs differ also in {', '.join(map(code, varied[_MOST_COLUMNS:]))}."
    yield (
        f"Batch sizes count {plain(part.facts['batch_unit'])}. The column steps has the last step that was evaluated."
    )


def _text(attribute: str) -> str:
    """Return an attribute, which is stored as JSON, as text."""
    value = json.loads(attribute)
    return value if isinstance(value, str) else attribute


def _fact(value: Any) -> str:
    if value is None:
        return NOTHING
    return (
        number(value) if isinstance(value, float | int) and not isinstance(value, bool) else code(shortened(str(value)))
    )


def _stored(part: Reported) -> Iterator[str]:
    if not part.stored:
        yield from ["No stored workload has the same data set and model, with batch sizes of the same unit.", ""]
        return
    yield "Compared with:"
    yield ""
    yield from (f"* {_described(each)}" for each in part.compared)
    yield ""
    others = [each for each in part.stored if each not in part.compared]
    if others:
        yield f"Of the same data set and model, and not compared: {', '.join(code(each.name) for each in others)}."
    yield (
        "They are found by these names. That the data are split and prepared, and the model is initialized, in the "
        "same way isn't checked."
    )
    yield ""


def _described(stored: StoredWorkload) -> str:
    return f"{code(stored.name)}, {stored.nearness}: {counted(stored.n_trials, 'trial')}"


def _goal(part: Reported, report: GoalReport, made: _Made) -> Iterator[str]:
    if report.goal.source:
        yield f"Source of the goal: {plain(report.goal.source)}"
        yield ""
    yield from table(["run", "status", "steps", "evaluation before", "value there"], map(_steps_of_run, report.trials))
    yield ""
    yield "The goal was crossed after the evaluation before, and at the latest at the step."
    yield ""
    if report.counted:
        yield from _by_size(part, report)
    else:
        yield from ["No run of one batch size is COMPLETE or MISSED, so none is counted by batch size.", ""]
    for comparison in report.comparisons:
        yield from _comparison(part, comparison, made)
    if report.left_out:
        yield from [f"Not counted: {plain('; '.join(report.left_out))}.", ""]
    if report.warnings:
        yield from [*(f"* Warning: {plain(text)}." for text in report.warnings), ""]
    yield from _outlooks(part, report, made)


def _outlooks(part: Reported, report: GoalReport, made: _Made) -> Iterator[str]:
    """Yield the forecasts of unfinished runs."""
    for outlook in outlooks(part, report):
        what = f"Forecast of run {plain('/'.join(outlook.trial.split('/')[-2:]))}"
        if outlook.reason:
            yield f"* {what}: none, since {plain(outlook.reason)}."
            continue
        sentences = plain(" ".join(outlook.sentences))
        among = ", reported ones among them" if outlook.stored == part.workload else ""
        yield f"* {what}, from the trials of {code(outlook.stored)} of its batch size{among}: {sentences}"
        made.definitions["forecast"] = outlook.definition
        yield from (f"    * Warning: {plain(text)}." for text in outlook.warnings)
    yield ""


def _steps_of_run(row: Row) -> list[str]:
    steps = number(row["steps"])
    if row["steps"] is None:
        steps = f"not by step {number(row['censored_at'])}" if row["censored_at"] is not None else "never measured"
    return [label(row), row["status"], steps, number(row["previous_step"]), number(row["value"])]


def _by_size(part: Reported, report: GoalReport) -> Iterator[str]:
    """Yield the steps by batch size: of the runs, and of the stored trials beside them."""
    rows: list[tuple[StepsAt, str]] = [(each, "the runs") for each in report.counted]
    rows += [(each, code(name)) for name, of_sizes in report.stored.items() for each in of_sizes]
    rows.sort(key=lambda pair: (pair[0].batch_size or 0, pair[1] != "the runs"))
    cells = [
        [
            size_name(each.batch_size), whose, number(each.n), number(each.n_reached), number(each.fewest),
            number(each.median),
        ]
        for each, whose in rows
    ]  # fmt: skip
    yield from table(["batch size", "trials of", "trials", "reach it", "fewest steps", "median steps"], cells)
    yield ""
    yield (
        "Trials are those of status COMPLETE or MISSED that aren't flagged. One that never reaches the goal counts in "
        f"the median as above all others. {NOTHING}: no trial, or not half of them, reaches it. The fewest steps of "
        "many trials are fewer by chance than those of a few."
    )
    stopped = sum(each.n_stopped_earlier for each, _ in rows)
    if stopped:
        verb = "takes it" if stopped == 1 else "takes them"
        yield f"{counted(stopped, 'trial')} stopped at an easier goal: the median {verb} as not reaching this one."
    missing = [
        f"{code(name)} has no trial at batch size {', '.join(missing)}"
        for name, of_sizes in report.stored.items()
        if (missing := [str(size) for size in part.batch_sizes if size not in {each.batch_size for each in of_sizes}])
    ]
    if missing:
        yield f"{'; '.join(missing)}."
    yield ""


def _comparison(part: Reported, comparison: Comparison, made: _Made) -> Iterator[str]:
    """Yield the comparison at equal tuning budget, with its conditions."""
    if comparison.answer is None:
        yield f"At equal tuning budget, {code(comparison.stored)} isn't compared: {plain(comparison.reason)}."
        yield ""
        return
    rows, facts = comparison.answer.to_dicts(), comparison.answer.facts
    base = {row["batch_size"]: row for row in rows if row["workload"] == comparison.stored}
    cells = [
        [
            size_name(row["batch_size"]), number(row["budget"]), number(row["n_settings"]),
            number(row["median_amount"]), number(base[row["batch_size"]]["n_settings"]),
            number(base[row["batch_size"]]["median_amount"]), *_ratio(row),
        ]
        for row in rows
        if row["workload"] == part.workload and row["batch_size"] in base
    ]  # fmt: skip
    yield f"At equal tuning budget, beside {code(comparison.stored)} ({code('losslake analyze compare')}):"
    yield ""
    columns = [
        "batch size", "best of", "settings of the runs", "their steps", "stored settings", "stored steps", "ratio",
        "90% range", "steps of the runs", "p",
    ]  # fmt: skip
    yield from table(columns, cells)
    yield ""
    made.definitions["compare"] = facts["definition"]
    yield " ".join(plain(each["in_words"]) for each in facts["conclusions"])
    yield (
        "Both are taken as searches: if the settings of the runs were chosen with knowledge of which work, a "
        "difference measures that choice, too. No ratio is given where no difference could be judged. A range from 0: "
        "in some draws of half the settings, the stored trials don't reach the goal; one without an upper "
        f"end ({NOTHING}): the runs don't."
    )
    results = (f"{plain(each['workload'])}, {each['result']} ({plain(each['why'])})" for each in facts["results"])
    yield f"What is compared: {'; '.join(results)}."
    yield ""
    if facts["left_out"]:
        yield from [f"Not compared: {plain('; '.join(facts['left_out']))}.", ""]
    if facts["warnings"]:
        yield from [*(f"* Warning: {plain(text)}." for text in facts["warnings"]), ""]


def _ratio(row: Row) -> list[str]:
    """Return the ratio with its range, the verdict and its p-value; no ratio where there is no verdict."""
    verdict = row["difference"]
    if verdict not in _JUDGED:
        return [NOTHING, NOTHING, plain(verdict or NOTHING), NOTHING]
    lower, upper = number(row["ratio_lower"], 3), number(row["ratio_upper"], 3)
    return [number(row["ratio"], 3), f"{lower} to {upper}", verdict, number(row["p_value"], 2)]


def _figures(part: Reported, report: GoalReport, figures: dict[str, Figure], prefix: str) -> Iterator[str]:
    """Yield the links to the figures of a goal, and add them."""
    goal = report.goal
    names = [part.workload, *report.stored]
    if len(part.batch_sizes) > 1:
        figure = part.library.scaling(names, **goal.parameters).plot(captioned=False)
        yield from _figure(figures, f"{prefix}scaling", figure, _scaling_title(part, report))
    for size in part.batch_sizes[:MOST_FIGURES]:
        stored = [f"{name}/{size}" for name, sizes in report.stored.items() if any(s.batch_size == size for s in sizes)]
        own = [row["trial"] for row in part.rows if row["batch_size"] == size][:MOST_ROWS]
        answer = part.library.curves(
            study=list(dict.fromkeys([f"{part.workload}/{size}", *stored])), metric=[goal.metric]
        )
        figure = answer.plot(highlight=own, target=goal.target, captioned=False)
        has_others = bool(stored) and len(own) < len({(row["workload"], row["trial_id"]) for row in answer.to_dicts()})
        over = " over the stored trials (grey)" if has_others else ""
        text = f"{goal.metric} by step at batch size {size}: the runs{over}"
        yield from _figure(figures, f"{prefix}curves-{size}", figure, text)
    if len(part.batch_sizes) > MOST_FIGURES:
        left = ", ".join(map(str, part.batch_sizes[MOST_FIGURES:]))
        yield f"Curves at {plural('batch size', len(part.batch_sizes) - MOST_FIGURES)} {left} aren't drawn."
        yield ""


def _scaling_title(part: Reported, report: GoalReport) -> str:
    among = "" if part.is_whole else ", of all trials of the workload, reported ones among them"
    return f"Steps to {report.text} by batch size{among}"


def _figure(figures: dict[str, Figure], name: str, figure: Figure, text: str) -> Iterator[str]:
    # Captions name the release that was asked, which readers don't have if it is a draft: only their notes are taken.
    figures[name] = figure
    notes = " ".join(figure.vega_lite().get("usermeta", {}).get("notes", ()))
    yield from [f"![{plain(text)}]({name}.svg)", "", f"{plain(text)}. {plain(notes)}".rstrip(), ""]


def _left_out(parts: Sequence[Reported], frame: Frame) -> Iterator[str]:
    texts = [
        f"run {label(row)} of {code(part.workload)} is {row['status']}: it {_WHY_NOT[row['status']]}; it isn't counted"
        for part in parts
        for row in part.rows
        if row["status"] not in _COUNTED
    ]
    texts += map(plain, frame.left_out)
    yield from ["## Left out and in doubt", ""]
    yield from [f"* {text}." for text in texts] or ["Nothing: every run is counted."]
    yield ""


def _definitions(made: _Made) -> Iterator[str]:
    if made.definitions:
        yield from ["## Definitions", ""]
        yield from (f"* {code(name)}: {plain(text)}" for name, text in made.definitions.items())
        yield ""


def _provenance(parts: Sequence[Reported]) -> Iterator[str]:
    yield from ["## Provenance", ""]
    rows = [row for part in parts for row in part.rows]
    cells = [
        [code(row["trial"]), code(row["source"].rpartition("/")[2]), code(row["source_sha256"][:16])] for row in rows
    ]
    yield from table(["trial", "run or log", "SHA-256 of its log, first 16 digits"], cells[:MOST_ROWS])
    if len(cells) > MOST_ROWS:
        yield from ["", f"{len(cells) - MOST_ROWS:,} more aren't listed."]
    yield ""


def _reproduce(frame: Frame) -> Iterator[str]:
    if frame.commands:
        yield from ["## Reproduce", "", block("\n".join(frame.commands), "sh"), ""]


def _citations(parts: Sequence[Reported], frame: Frame) -> Iterator[str]:
    names = [each.name for part in parts for each in part.compared if frame.stored is not None]
    if not frame.is_draft:
        names += [part.workload for part in parts]
    yield from ["## Cite", ""]
    if frame.stored is None or not names:
        yield from ["No stored collection was used.", ""]
        return
    answer = frame.stored.cite(workload=list(dict.fromkeys(names)))
    yield from (f"* {plain(row['text'])}" for row in answer.to_dicts())
    yield from ["", block("\n\n".join(row["bibtex"] for row in answer.to_dicts()), "bibtex"), ""]
