"""`losslake workloads`: a list of them, or a search."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from losslake.output.imports import without_pandas
from losslake_cli.console import LakeOption, ReleaseOption, TextFormat, WideOption, open_release
from losslake_cli.table import print_rows
from losslake_schema.names import Workload

if TYPE_CHECKING:
    from losslake.questions.release.view import ReleaseView


def workloads(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WORDS]…", help="Only workloads that match every word: 'resnet50 lars'."),
    ] = None,
    wide: WideOption = False,
    lake: LakeOption = None,
    release: ReleaseOption = None,
    format: Annotated[TextFormat, typer.Option(help="Output format.")] = "table",  # noqa: A002
) -> None:
    """List the workloads, or search them.

    Words match names, other names that people use, metrics, and the rounds, organisations and systems of trials; a
    number also matches a batch size.
    """
    without_pandas()
    from losslake.questions.release.named_workload import no_match
    from losslake.questions.release.workload_words import words_of

    view = open_release(lake, release)
    matches = list(view.workloads)
    if words:
        text = " ".join(words)
        matches = view.words.matches(words_of(text))
        if not matches:
            raise no_match(view, text)
    list_workloads(view, matches, format, wide)


def list_workloads(view: ReleaseView, names: Iterable[Workload], format: TextFormat, is_wide: bool) -> None:  # noqa: A002
    """Print workloads with their batch sizes and trials."""
    columns = ("workload", "batch_sizes", "smallest", "largest", "trials", "batch_unit")
    counts = {Workload(*row[:4]): row[4:] for row in view.rows("trials_of_workloads")}
    rows = []
    for name in sorted(names):
        sizes = view.workloads[name].fixed_sizes
        ends = (sizes[0], sizes[-1]) if sizes else (None, None)
        rows.append((str(name), len(sizes), *ends, *counts[name]))
    print_rows(columns, rows, format, is_wide, whole="workload")
