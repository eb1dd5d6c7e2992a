"""`losslake check`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from losslake.output.imports import without_pandas
from losslake_cli.console import LakeOption, echo, echo_all, echo_some, open_lake
from losslake_cli.contributing.push import CollectionOption, MappingOption, RunsArgument
from losslake_schema.quantities import counted

if TYPE_CHECKING:
    from losslake.lake.lake import Lake
    from losslake_contributions.review.checks.local import Checked


def check(
    paths: RunsArgument,
    lake: LakeOption = None,
    licence: Annotated[
        str | None, typer.Option(metavar="SPDX", help="Licence of the measurements, such as CC-BY-4.0.")
    ] = None,
    claim: Annotated[
        list[str] | None, typer.Option(metavar="[RUN:]METRIC=TARGET@STEPS", help="A claim to verify; repeatable.")
    ] = None,
    collection: CollectionOption = None,
    mapping: MappingOption = None,
    preview: Annotated[bool, typer.Option("--preview", help="Print every byte that would be sent.")] = False,
    changes: Annotated[
        bool, typer.Option("--changes", help="Print what would change in the lake: steps, regimes, best trials.")
    ] = False,
    format: Annotated[  # noqa: A002
        Literal["text", "json"], typer.Option(help="Format of the report.")
    ] = "text",
) -> None:
    """Check runs and logs before they are sent.

    The rules are those of the service. Secrets, host names, paths and e-mail addresses are removed first; nothing is
    sent, and no file is changed. Without a lake, rules that compare with stored trials aren't run. Exits with status 1
    if a rule refuses a run.
    """
    without_pandas()
    from losslake_contributions.review.checks.claims import parse_claim
    from losslake_contributions.review.checks.local import check_paths
    from losslake_ingest.pipeline.reading import Request

    claims = [parse_claim(text) for text in claim or ()]
    base = _base(lake)
    with tempfile.TemporaryDirectory(prefix="losslake-check-") as scratch:
        request = Request(collection, mapping)
        checked = check_paths(paths, request, Path(scratch), base, licence or "", claims)
        if format == "json":
            _print_json(checked)
        else:
            _print_text(checked, base, is_preview=preview, has_changes=changes)
    if checked.report.refuses:
        raise typer.Exit(1)


def _base(lake: str | None) -> Lake | None:
    """Return the lake to compare with; None if none is named, and there is none at the usual place."""
    from losslake_schema.errors import LakeNotFound

    try:
        return open_lake(lake)
    except LakeNotFound:
        if lake is not None:
            raise
        return None


def _print_json(checked: Checked) -> None:
    from pydantic import TypeAdapter

    from losslake_contributions.client.privacy import Removal
    from losslake_contributions.review.checks.report import Report

    document = {
        "report": TypeAdapter(Report).dump_python(checked.report, mode="json"),
        "removed": TypeAdapter(dict[str, list[Removal]]).dump_python(
            {name: list(run.removals) for name, run in checked.conversion.runs.items()}, mode="json"
        ),
        "quarantined": [str(each) for each in checked.conversion.quarantined],
        "left_out": [*checked.conversion.left_out, *checked.conversion.broken],
        "compared_with_release": checked.draft.base,
    }
    print(TypeAdapter(dict[str, object]).dump_json(document, indent=1).decode())  # noqa: T201


def _print_text(checked: Checked, base: Lake | None, *, is_preview: bool, has_changes: bool) -> None:
    from losslake_contributions.review.changes import changes
    from losslake_contributions.review.changes_text import as_text as changes_as_text
    from losslake_contributions.review.checks.report import as_text

    conversion = checked.conversion
    compared = f", compared with release {checked.draft.base} of {base}" if checked.draft.base is not None else ""
    echo(f"checked      {counted(len(checked.spools), 'run')} as they would be sent{compared}")
    if is_preview:
        for run in conversion.runs.values():
            echo_all(run.preview())
    else:
        removals = [f"{name}: {each}" for name, run in conversion.runs.items() for each in run.removals]
        echo_some([f"removed      {each}" for each in removals], "more: --preview shows what would be sent")
    others = [*map(str, conversion.quarantined), *conversion.left_out, *conversion.broken]
    echo_some([f"not sent     {each}" for each in others], "more: see the logs")
    if has_changes:
        echo_all(changes_as_text(changes(checked.draft)))
    echo_all(as_text(checked.report))
