"""`losslake reproduce`."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from losslake.cli.console import LakeOption, ReleaseOption, echo, open_release, plural
from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from losslake.questions.release.view import ReleaseView

_INDENT = "  "
_BUNDLED, _PUBLISHED = "bundled", "published"


class FigureFormat(StrEnum):
    """File formats of figures."""

    svg = "svg"
    png = "png"
    pdf = "pdf"
    csv = "csv"
    vl_json = "vl.json"


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="shallue2018, bundled or published.")],
    figure: Annotated[
        list[str] | None,
        typer.Option("--figure", metavar="N", help="Number of the figure, such as 1 or 9a; repeatable. Default: all."),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Use the first N trials of each study instead of as many as the paper.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder to write to. Default: ./PAPER.")] = None,
    format: Annotated[  # noqa: A002
        list[FigureFormat] | None, typer.Option(help="Output format; repeatable. Default: all.")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write a report of the findings as Markdown; bundled, published."),
    ] = None,
    lake: LakeOption = None,
    release: ReleaseOption = None,
) -> None:
    """Draw the figures of a paper from a lake with its archive.

    Writes each figure as images, as a Vega-Lite specification and as CSV. Reports missing data, also in the figures;
    'losslake fetch shallue2018' downloads all of it. 'published' stands for the published collections: it writes
    a report and its charts as SVG.
    """
    from losslake.figures.papers.drawn import drawn_figure, figure_bytes
    from losslake.figures.papers.listing import how_to_get
    from losslake.figures.papers.paper import paper as paper_named
    from losslake.lake.lake import Lake
    from losslake.questions.release.view import ReleaseView

    if paper == _PUBLISHED:
        if figure or trials or format:
            raise LossLakeError(f"{_PUBLISHED} has a report and its charts as SVG: give only --report and --out")
        _write_findings(open_release(lake, release), report or Path(f"{_PUBLISHED}.md"), out or Path(_PUBLISHED))
        return
    known = paper_named(paper)
    if report is not None and paper != _BUNDLED:
        raise LossLakeError(f"--report is only for {_BUNDLED} and {_PUBLISHED}: leave it out for {paper}")
    numbers = list(dict.fromkeys(figure or [each.number for each in known.figures]))
    for number in numbers:
        known.figure(number)
    opened = Lake.open(lake)
    if release is None and not opened.releases():
        raise LossLakeError(f"the lake in {opened} is empty: {how_to_get(known.collection)}")
    view = ReleaseView.open(opened, opened.release(release))
    folder = out or Path(paper)
    empty = panels = 0
    for number in numbers:
        drawn = drawn_figure(view, known, number, trials)
        folder.mkdir(parents=True, exist_ok=True)
        names = []
        for ending in format or FigureFormat:
            names.append(f"figure-{number}.{ending}")
            (folder / names[-1]).write_bytes(figure_bytes(drawn, ending.value))
        echo(f"figure {number}: {drawn.figure.title}: {', '.join(names)}")
        for note in drawn.notes:
            echo(f"{_INDENT}{note}")
        empty, panels = empty + drawn.n_missing, panels + len(drawn.panels)
    if report is not None:
        _write_report(view, report, folder)
    echo(f"{plural(len(numbers), 'figure')} of {paper} in {folder}, from release {view.number}")
    if empty:
        echo(f"{empty} of {panels} panels have no data: {how_to_get(known.collection)}")


def _write_report(view: ReleaseView, report: Path, folder: Path) -> None:
    """Write the report, which links to the figures in a folder."""
    from losslake.cli.reports.bundled_studies import bundled_studies

    _write(report, bundled_studies(view, _relative(folder, report)))


def _write_findings(view: ReleaseView, report: Path, folder: Path) -> None:
    """Write the report on the published collections, and its charts to a folder."""
    from losslake.cli.reports.findings import findings

    text, charts = findings(view, _relative(folder, report))
    folder.mkdir(parents=True, exist_ok=True)
    for name, svg in charts.items():
        (folder / f"{name}.svg").write_bytes(svg)
    _write(report, text)


def _relative(folder: Path, report: Path) -> str:
    return Path(os.path.relpath(folder, report.parent)).as_posix()


def _write(report: Path, text: str) -> None:
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(text, "utf-8")
    echo(f"report: {report}")
