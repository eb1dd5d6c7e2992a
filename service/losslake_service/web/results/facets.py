"""The facets of results: their values, each with the number of submissions that have it and match the other facets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from losslake.questions.release.known_names import display_name, told_apart
from losslake.questions.release.view import ReleaseView
from losslake.questions.results import results
from losslake.questions.results.rules import round_key
from losslake_schema.names import Workload
from losslake_schema.package_files import read_toml
from losslake_service.web.per_release import once_per_release

_TITLES = {
    "suite": "Suite",
    "round": "Round",
    "benchmark": "Benchmark",
    "division": "Division",
    "flag": "Flag",
    "organisation": "Organisation",
    "accelerator": "Accelerator",
}
# Facets with so few values share a line; those with so many are folded until one is chosen.
_FEW, _MANY = 10, 30
Counts = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class FacetValue:
    """A value. text: as people write it. count: of submissions."""

    value: str
    text: str
    count: int
    is_chosen: bool


@dataclass(frozen=True)
class Facet:
    """A facet. name: of its parameter."""

    name: str
    title: str
    values: Sequence[FacetValue]

    @property
    def chosen(self) -> list[str]:
        """The values that are chosen, as people write them."""
        return [each.text for each in self.values if each.is_chosen]

    @property
    def size(self) -> Literal["short", "medium", "long"]:
        """The place that it takes."""
        if len(self.values) >= _MANY:
            return "long"
        return "short" if len(self.values) < _FEW and self.name != "flag" else "medium"


@cache
def words() -> Mapping[str, Mapping[str, str]]:
    """Return what readers see for values that aren't names, by column."""
    return read_toml("losslake_service.web.results", "words.toml")


def facets(view: ReleaseView, answer: Counts, chosen: Mapping[str, Sequence[str]]) -> list[Facet]:
    """Return the facets that can be chosen from. answer: the counts. chosen: the values chosen, by facet."""
    return [each for each in _facets(view, answer, chosen) if len(each.values) > (each.name != "flag")]


def counts_of(facts: Mapping[str, Any]) -> Counts:
    """Return the counts of an answer by facet and value, as parameters take them."""
    counts: dict[str, dict[str, int]] = {}
    for each in facts["facets"]:
        counts.setdefault(each["facet"], {})[each["value"] or results.UNKNOWN] = each["n"]
    return counts


@dataclass(frozen=True)
class Everything:
    """All submissions of a release. counts: by facet. models: what people call the model of each benchmark."""

    counts: Counts
    models: Mapping[str, str]

    @property
    def newest_round(self) -> str | None:
        """The newest round; None without submissions."""
        return max(self.counts.get("round", ()), key=round_key, default=None)


@once_per_release
def everything(view: ReleaseView) -> Everything:
    """Return what there is in a release."""
    answer = results.QUESTION.answer(view, results.ResultsParameters())
    pairs = answer.table().select(["benchmark", "workload"]).to_pydict()
    workloads = dict(zip(pairs["benchmark"], map(Workload.parse, pairs["workload"]), strict=True))
    names = {benchmark: display_name("model", workload) for benchmark, workload in workloads.items()}
    return Everything(counts_of(answer.facts), told_apart(names))


def _facets(view: ReleaseView, answer: Counts, chosen: Mapping[str, Sequence[str]]) -> Iterator[Facet]:
    every = everything(view)
    for name, title in _TITLES.items():
        known = every.models if name == "benchmark" else words().get(name, {})
        counts, selected = answer.get(name, {}), chosen.get(name, ())
        values = [
            FacetValue(value, known.get(value, value), counts.get(value, 0), value in selected)
            for value in dict.fromkeys([*every.counts.get(name, ()), *selected])
        ]
        if name == "round":
            values.sort(key=lambda each: round_key(each.value), reverse=True)
        elif name != "suite":
            values.sort(key=lambda each: each.text.casefold())
        yield Facet(name, title, values)
