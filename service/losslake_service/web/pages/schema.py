"""The page of the schema: what a row of each view is, what its columns mean, and how files hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from losslake.lake.lake import LAYOUT_VERSION
from losslake.output.answer import row_shape
from losslake.questions.release_view import ReleaseView
from losslake_service.web.examples import Example, example
from losslake_service.web.first_look import first_chart
from losslake_service.web.page import Crumb, Page, PageAsked, PageKind, PageParameters
from losslake_service.web.schema_tables import TableShown, purpose, schema_tables, statement

_EXAMPLE_OF = ("collection", "dataset", "model", "optimizer", "batch_size", "trial_id", "metric", "target")


@dataclass(frozen=True)
class StatementShown:
    """A statement to try. purpose: what it answers."""

    purpose: str
    text: str
    url: str


@dataclass(frozen=True)
class MetricShown:
    """A metric that the release has measurements of. direction: empty where nobody has said which way is better."""

    name: str
    direction: str
    unit: str
    meaning: str
    n_workloads: int


@dataclass(frozen=True)
class SchemaShown:
    """What the template shows."""

    tables: Sequence[tuple[TableShown, StatementShown]]
    metrics: Sequence[MetricShown]
    layout: int
    statuses: str


def schema_page(asked: PageAsked) -> Page:
    """The page."""
    found = example(asked.view)
    tables = schema_tables(asked.view)
    return Page(
        template="schema.html",
        title="The schema",
        description="Every view and column of LossLake with type, unit and meaning, and how the Parquet files hold it.",
        url=asked.url("/docs/schema"),
        content=SchemaShown(
            tables=[(table, _statement(asked, table, found)) for table in tables],
            metrics=metrics_measured(asked.view),
            layout=LAYOUT_VERSION,
            statuses=row_shape("trials", "status").columns[0].doc,
        ),
        picture=first_chart(asked),
        above=(Crumb("Docs", asked.url("/docs")),),
        styles=("docs.css",),
        scripts=("docs.js",),
    )


def metrics_measured(view: ReleaseView) -> Sequence[MetricShown]:
    """The metrics of which the release has measurements, by name."""
    counts: dict[str, int] = {}
    for facts in view.workloads.values():
        for name in facts.measured:
            counts[name] = counts.get(name, 0) + 1
    return [
        MetricShown(name, direction or "", unit or "", meaning or "", counts[name])
        for name, _, _, direction, unit, meaning in sorted(view.rows("list_metrics"))
        if name in counts
    ]


def example_values(found: Example | None) -> dict[str, str | float]:
    """What statements are about: a study of the release, or without data what the documentation tells of."""
    if found is None:
        return {column.name: column.example for column in row_shape("any", *_EXAMPLE_OF).columns}
    return {
        **{key: getattr(found.workload, key) for key in ("collection", "dataset", "model", "optimizer")},
        "batch_size": found.batch_size,
        "trial_id": found.trial_id,
        "metric": found.metric,
        "target": found.target,
    }


def _statement(asked: PageAsked, table: TableShown, found: Example | None) -> StatementShown:
    name = f"schema/{table.name}"
    text = statement(name, **example_values(found))
    return StatementShown(purpose(name), text, asked.url("/sql", q=text))


SCHEMA = PageKind("/docs/schema", PageParameters, schema_page)
