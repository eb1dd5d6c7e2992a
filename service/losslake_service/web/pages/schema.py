"""The page of the schema: the rows and columns of each view, and how files store them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from losslake.lake.lake import LAYOUT_VERSION
from losslake.output.columns import row_shape
from losslake.questions.declaration.shared_columns import SharedColumns
from losslake.questions.release.view import ReleaseView
from losslake_service.web.code_lines import purpose, statement
from losslake_service.web.examples import Example, find_example
from losslake_service.web.page import DocsPage, Page, PageKind, PageParameters, PageRequest
from losslake_service.web.schema_tables import schema_tables
from losslake_service.web.starting_example import first_chart

_EXAMPLE_OF = ("collection", "dataset", "model", "optimizer", "batch_size", "trial_id", "metric", "target")


def schema_page(request: PageRequest) -> Page:
    """Return the page."""
    values = example_values(find_example(request.view))

    def try_it(name: str) -> tuple[str, str, str]:
        """Return the purpose, the text and the address of an example statement."""
        text = statement(f"schema/{name}", **values)
        return purpose(f"schema/{name}"), text, request.url("/sql", q=text)

    return DocsPage(
        template="schema.html",
        title="The schema",
        description="The views and columns of LossLake with type, unit and meaning, and how Parquet files store them.",
        url=request.url("/docs/schema"),
        content={
            "tables": [(table, *try_it(table.name)) for table in schema_tables(request.view)],
            "metrics": _metrics_measured(request.view),
            "layout": LAYOUT_VERSION,
            "statuses": row_shape(SharedColumns).by_name["status"].doc,
        },
        picture=first_chart(request),
        above=(("Docs", request.url("/docs")),),
    )


def example_values(example: Example | None) -> dict[str, str | float]:
    """Return the values in example statements: of a study of the release, or of the documentation without data."""
    if example is None:
        return {column.name: column.example for column in row_shape(SharedColumns).only(_EXAMPLE_OF).columns}
    return example.columns()


def _metrics_measured(view: ReleaseView) -> Sequence[tuple[str, str | None, str | None, str | None, int]]:
    """Return name, direction, unit, meaning and number of workloads of each measured metric."""
    counts = Counter(name for facts in view.workloads.values() for name in facts.measured)
    return [
        (name, direction, unit, meaning, counts[name])
        for name, _, _, direction, unit, meaning in sorted(view.rows("list_metrics"))
        if name in counts
    ]


SCHEMA = PageKind("/docs/schema", PageParameters, schema_page)
