"""Every question of the REST interface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa

from losslake.figures.papers.listing import PAPERS, paper_figures
from losslake.output.answer import Answer
from losslake.questions.best import BEST, best
from losslake.questions.curves import CURVES, curves
from losslake.questions.described_facts import LIST_FACTS, RELEASE, SELECTION_FACTS, facts_named
from losslake.questions.lists.filters import Condition, Of, conditions, has_metaparameters
from losslake.questions.lists.listing import LISTINGS, RELEASES, TRIALS, Listing
from losslake.questions.lists.paging import SortKey
from losslake.questions.lists.rows import ListQuestion, checked_columns, list_rows
from losslake.questions.metaparameters import METAPARAMETERS, metaparameters
from losslake.questions.parameters import (
    CurvesParameters,
    ListParameters,
    MetaparametersParameters,
    PageParameters,
    PlacedListParameters,
    ReleaseParameters,
    ScalingParameters,
    SelectionParameters,
    StepsToTargetParameters,
    TargetsParameters,
    TrialListParameters,
)
from losslake.questions.question import Asked, Question
from losslake.questions.release_view import sql
from losslake.questions.rest_analysis.questions import analysis_questions
from losslake.questions.scaling import SCALING, TARGETS, scaling, targets
from losslake.questions.selection import named_study, named_workload
from losslake.questions.steps import STEPS_TO_TARGET, steps_to_target
from losslake_schema.names import Study, Workload

JSON_PAGE = 1000


def questions() -> Iterator[Question]:
    """The questions, those asked most often first."""
    yield Question(
        "/v1/scaling",
        "How many steps the best trial of a workload takes to a target, by batch size.",
        ScalingParameters,
        lambda asked: scaling(
            asked.view,
            asked.parameters.selection(),
            asked.parameters.goal(),
            asked.parameters.normalize_to,
            asked.parameters.asked_crossing(),
        ),
        SCALING,
        (*SELECTION_FACTS, *facts_named("target", "comparator", "crossing", "k", "normalize_to", "warnings")),
        is_quick=lambda parameters: _is_of_one_workload(parameters) and parameters.crossing == "first",
    )
    yield Question(
        "/v1/curves",
        "The measurements of some trials, or of all trials of some studies.",
        CurvesParameters,
        lambda asked: curves(asked.view, asked.parameters.question()),
        CURVES,
        (RELEASE, *facts_named("studies", "trials_asked", "thinned")),
    )
    yield Question(
        "/v1/steps-to-target",
        "When each trial of a workload reaches a target.",
        StepsToTargetParameters,
        lambda asked: steps_to_target(
            asked.view,
            asked.parameters.selection(),
            asked.parameters.goal(),
            asked.parameters.asked_crossing(),
            asked.parameters.batch_size,
        ),
        STEPS_TO_TARGET,
        (*SELECTION_FACTS, *facts_named("batch_sizes", "target", "comparator", "crossing", "k", "warnings")),
    )
    yield Question(
        "/v1/best",
        "The best value of a metric by batch size, within a budget of steps or examples.",
        SelectionParameters,
        lambda asked: best(asked.view, asked.parameters.selection()),
        BEST,
        SELECTION_FACTS,
        is_quick=_is_of_one_workload,
    )
    yield Question(
        "/v1/metaparameters",
        "The metaparameters of the best trials by batch size: of those near-optimal in steps to a target.",
        MetaparametersParameters,
        lambda asked: metaparameters(
            asked.view, asked.parameters.selection(), asked.parameters.goal(), asked.parameters.within
        ),
        METAPARAMETERS,
        (*SELECTION_FACTS, *facts_named("target", "comparator", "within")),
    )
    yield Question(
        "/v1/targets",
        "Scaling for many targets in one call.",
        TargetsParameters,
        lambda asked: targets(
            asked.view, asked.parameters.selection(), asked.parameters.targets(), asked.parameters.comparator
        ),
        TARGETS,
        (*SELECTION_FACTS, *facts_named("comparator")),
    )
    yield from analysis_questions()
    for listing in LISTINGS:
        yield _list(listing)
    yield Question(
        "/v1/papers",
        "The figures of papers that can be drawn, and how much of each the release has the data for.",
        ReleaseParameters,
        lambda asked: paper_figures(asked.view),
        PAPERS,
        (RELEASE,),
    )
    yield Question(
        "/v1/releases", RELEASES.doc, PageParameters, _releases, RELEASES.shape, LIST_FACTS[1:], RELEASES,
        is_of_release=False,
    )  # fmt: skip


def _is_of_one_workload(parameters: SelectionParameters) -> bool:
    """Of one, and in the direction for which records are there."""
    return len(parameters.workload) == 1 and parameters.direction is None


def _list(listing: Listing) -> Question:
    is_placed = "optimizer" in listing.columns
    parameters: type[ListParameters] = PlacedListParameters if is_placed else ListParameters
    if listing is TRIALS:
        parameters = TrialListParameters

    def answer(asked: Asked) -> Answer:
        relation = asked.view.cursor().sql(sql(f"list_{listing.name}"))
        return _rows(listing, relation, asked, {"release": asked.view.number})

    return Question(f"/v1/{listing.name}", listing.doc, parameters, answer, listing.shape, LIST_FACTS, listing)


def _releases(asked: Asked) -> Answer:
    rows = [
        {name: getattr(release, "number" if name == "release" else name) for name in RELEASES.columns}
        for release in asked.releases.lake.releases()
    ]
    table = pa.Table.from_pylist(rows, RELEASES.shape.schema)
    relation = duckdb.connect(":memory:").from_arrow(table)
    return _rows(RELEASES, relation, asked, {})


def _rows(listing: Listing, relation: duckdb.DuckDBPyRelation, asked: Asked, facts: dict[str, Any]) -> Answer:
    parameters: PageParameters = asked.parameters
    known = asked.view.metaparameters() if has_metaparameters(listing) else {}
    question = ListQuestion(
        listing=listing,
        conditions=(*_places(asked), *conditions(listing, asked.filters, known)),
        sort=_sort(listing, parameters.sort),
        fields=checked_columns(listing, "fields", _names(parameters.fields)),
        limit=parameters.limit or (JSON_PAGE if asked.output.name == "json" else None),
        cursor=parameters.cursor,
    )
    return list_rows(relation, question, facts, asked.opened.number if asked.opened else 0)


def _places(asked: Asked) -> Iterator[Condition]:
    """The workloads and studies that were named, which have to be there."""
    parameters = asked.parameters
    if isinstance(parameters, PlacedListParameters) and parameters.workload:
        workloads: list[Workload | Study] = [named_workload(path) for path in parameters.workload]
        for workload in workloads:
            assert isinstance(workload, Workload)
            asked.view.workload(workload)
        yield Of(tuple(workloads))
    if isinstance(parameters, TrialListParameters) and parameters.study:
        studies = [named_study(path) for path in parameters.study]
        for study in studies:
            asked.view.study(study)
        yield Of(tuple(studies))


def _sort(listing: Listing, text: str) -> tuple[SortKey, ...]:
    if listing is RELEASES and not text:
        return (SortKey("release", is_descending=True),)
    keys: dict[str, SortKey] = {}
    for name in _names(text):
        column = name.removeprefix("-")
        keys.setdefault(column, SortKey(column, name.startswith("-")))
    sortable = [column.name for column in listing.shape.columns if column.is_ordered]
    checked_columns(listing, "sort", tuple(keys), sortable)
    return tuple(keys.values())


def _names(text: str) -> list[str]:
    return text.split(",") if text else []
