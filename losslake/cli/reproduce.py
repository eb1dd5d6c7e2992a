"""`losslake reproduce`."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from losslake.cli.console import LakeOption, ReleaseOption, counted, say
from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from losslake.questions.release_view import ReleaseView

_INDENT = "  "
_REPORTED = "bundled"


class FigureFormat(StrEnum):
    svg = "svg"
    png = "png"
    pdf = "pdf"
    csv = "csv"
    vl_json = "vl.json"


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="shallue2018 or bundled.")],
    figure: Annotated[
        list[str] | None,
        typer.Option("--figure", metavar="N", help="Repeatable: 1, 9a … Default: every one.", show_default=False),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            min=1, help="Of each study take the first so many trials, not as many as the paper.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to write. Default: ./PAPER.", show_default=False)
    ] = None,
    format: Annotated[  # noqa: A002
        list[FigureFormat] | None, typer.Option(help="Repeatable. Default: all of them.", show_default=False)
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write what the figures say, as Markdown; of bundled.", show_default=False),
    ] = None,
    lake: LakeOption = None,
    release: ReleaseOption = None,
) -> None:
    """Draw the figures of a paper from a lake with its archive.

    Each comes as an image, as a Vega-Lite specification, and as the numbers in it. What the lake lacks is said, in the
    figures too; 'losslake fetch shallue2018' gets all of it.
    """
    from losslake.figures.papers.drawn import drawn_figure, figure_bytes
    from losslake.figures.papers.listing import how_to_get
    from losslake.figures.papers.paper import paper as paper_named
    from losslake.lake.lake import Lake
    from losslake.questions.release_view import ReleaseView

    found = paper_named(paper)
    if report is not None and paper != _REPORTED:
        raise LossLakeError(
            f"--report is of {_REPORTED} only: leave it out, the figures of {paper} are drawn without it"
        )
    numbers = list(dict.fromkeys(figure or [known.number for known in found.figures]))
    for number in numbers:
        found.figure(number)
    opened = Lake.open(lake)
    if release is None and not opened.releases():
        raise LossLakeError(f"the lake in {opened} is empty: {how_to_get(found.collection)}")
    view = ReleaseView.open(opened, opened.release(release))
    folder = out or Path(paper)
    lacking = panels = 0
    for number in numbers:
        drawn = drawn_figure(view, found, number, trials)
        folder.mkdir(parents=True, exist_ok=True)
        names = []
        for ending in format or FigureFormat:
            names.append(f"figure-{number}.{ending}")
            (folder / names[-1]).write_bytes(figure_bytes(drawn, ending.value))
        say(f"figure {number}: {drawn.figure.title}: {', '.join(names)}")
        for note in drawn.notes:
            say(f"{_INDENT}{note}")
        lacking, panels = lacking + drawn.n_lacking, panels + len(drawn.panels)
    if report is not None:
        _write_report(view, report, folder)
    say(f"{counted(len(numbers), 'figure')} of {paper} in {folder}, from release {view.number}")
    if lacking:
        say(f"{lacking} of {panels} panels have no data: {how_to_get(found.collection)}")


def _write_report(view: ReleaseView, report: Path, folder: Path) -> None:
    """Write the report, which shows the figures in that folder."""
    from losslake.cli.reports.bundled_studies import bundled_studies

    text = bundled_studies(view, Path(os.path.relpath(folder, report.parent)).as_posix())
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(text, "utf-8")
    say(f"report: {report}")
