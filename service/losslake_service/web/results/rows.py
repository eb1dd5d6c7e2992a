"""The rows of results as readers see them: names, times, checks and links of each submission."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from losslake.questions.release.known_names import display_name
from losslake.questions.results.rules import rules_of
from losslake_schema.names import Workload
from losslake_schema.quantities import amount, counted
from losslake_service.web.page import PageRequest
from losslake_service.web.results.facets import words
from losslake_service.web.results.strips import Run, Strip, duration, reach_of, strip_of
from losslake_service.web.studies.sources import web_address

_MANY = 1e6
_TRAINING = "mlperf-training"


class Check(NamedTuple):
    """A check of a submission. text: in a few words. why: in sentences. is_flag: it is doubtful."""

    text: str
    why: str
    is_flag: bool


@dataclass(frozen=True)
class ShownRow:
    """A submission in the table. row: of the answer. curves: address of the viewer with all of its runs."""

    row: Mapping[str, Any]
    runs: Sequence[Run]
    strip: Strip | None
    curves: str
    is_chosen: bool

    @property
    def round(self) -> str:
        """The round, with its suite if that is not Training."""
        suite, name = self.row["suite"], self.row["round"]
        return str(name) if suite == _TRAINING else f"{words()['suite'].get(suite, suite)} {name}"

    @property
    def time(self) -> str:
        """MLPerf's time, not scaled."""
        return duration(self.row["time_s"])

    @property
    def scored(self) -> str:
        """MLPerf's time as its tables state it; empty if it is the same, or unknown."""
        scored = self.row["scored_s"]
        return duration(scored) if scored is not None and scored != self.row["time_s"] else ""

    @property
    def examples(self) -> str:
        """The examples to the target to three digits: 12,345 examples, 4,010 M examples."""
        number = self.row["examples"]
        return f"{number:,.0f} examples" if number < _MANY else f"{amount(number / 1e6)} M examples"

    @property
    def checks(self) -> Iterator[Check]:
        """The check by reference points, then the flags."""
        row, known = self.row, words()
        ground = known["rcp_ground"][row["rcp_ground"]] if row["rcp_ground"] else ""
        verdict = ", ".join(filter(None, [known["rcp"].get(row["rcp"], ""), ground]))
        yield Check(f"RCP: {verdict}", _sentence(row["rcp_in_words"]), row["rcp"] == "fail")
        for flag, why in zip(row["flags"], row["flags_in_words"], strict=True):
            if flag != "sooner_than_references":  # the check above says so
                yield Check(known["flag"].get(flag, flag), _sentence(why), True)

    @property
    def name(self) -> str:
        """Return what sets the submission apart, for readers who don't see the table."""
        row = self.row
        return f"{row['organisation']}, {row['system']}, {row['benchmark']}, round {self.round}"

    @property
    def runs_in_words(self) -> str:
        """Return the times of the runs in a sentence."""
        times = sorted(run.seconds for run in self.runs if run.seconds is not None)
        if not times:
            return "no run has a time"
        n_dropped = sum(run.is_dropped and run.seconds is not None for run in self.runs)
        parts = [f"{counted(len(times), 'run')} from {duration(times[0])} to {duration(times[-1])}"]
        if n_dropped:
            parts.append(f"{n_dropped} of them left out of the mean, drawn hollow")
        if len(times) < len(self.runs):
            parts.append(f"{counted(len(self.runs) - len(times), 'more run')} without a time to the target")
        return ", ".join(parts)


@dataclass(frozen=True)
class RowGroup:
    """Neighbouring rows of a benchmark. title: its model and data set. round: of all of them; None for several."""

    title: str
    round: str | None
    rows: Sequence[ShownRow]


@dataclass(frozen=True)
class ShownTable:
    """The rows of a page. reach: half the width of its strips, as a share of each submission's time.

    has_rounds: rows of a group may be of several rounds.
    """

    groups: Sequence[RowGroup]
    reach: float
    has_rounds: bool


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def title_of(row: Mapping[str, Any]) -> str:
    """Return the model and data set of a row's benchmark as people write them."""
    workload = Workload.parse(row["workload"])
    return f"{display_name('model', workload)} on {display_name('dataset', workload)}"


def shown_table(
    request: PageRequest, rows: Sequence[Mapping[str, Any]], chosen: Sequence[str], *, is_by_round: bool
) -> ShownTable:
    """Return the rows of a page, grouped where they follow each other. chosen: submissions that are ticked."""
    runs = [_runs(row) for row in rows]
    reach = reach_of((row["time_s"], each) for row, each in zip(rows, runs, strict=True))
    shown = [
        ShownRow(
            row=row,
            runs=each,
            strip=strip_of(row["time_s"], each, reach),
            curves=request.url("/viewer", submission=row["submission"]),
            is_chosen=row["submission"] in chosen,
        )
        for row, each in zip(rows, runs, strict=True)
    ]

    def group_of(each: ShownRow) -> tuple[str, str | None]:
        return each.row["benchmark"], None if has_rounds else each.round

    has_rounds = not is_by_round and len({each.round for each in shown}) > 1
    groups = [(round_, list(members)) for (_, round_), members in groupby(shown, group_of)]
    return ShownTable([RowGroup(title_of(each[0].row), round_, each) for round_, each in groups], reach, has_rounds)


def _runs(row: Mapping[str, Any]) -> list[Run]:
    """Return the runs in the order of the answer: those with a time ascending, then the others."""
    times, counted = row["run_times_s"], _counted(row)
    return [
        Run(times[at] if at < len(times) else None, not counted.start <= at < counted.stop, trial, web_address(log))
        for at, (trial, log) in enumerate(zip(row["trials"], row["logs"], strict=True))
    ]


def _counted(row: Mapping[str, Any]) -> range:
    """Return the places of the runs in MLPerf's mean; all where it isn't known which."""
    rules = rules_of(row["suite"], row["benchmark"])
    if row["time_s"] is None or rules is None or rules.first_converged is not None:
        return range(len(row["trials"]))
    # Runs that missed the target are the slowest.
    return range(rules.trimmed, row["n_runs"] - rules.trimmed)
