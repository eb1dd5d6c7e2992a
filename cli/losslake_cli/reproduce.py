"""`losslake reproduce`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from losslake_cli.console import LakeOption, ReleaseOption, echo, open_lake
from losslake_schema.errors import LossLakeError
from losslake_schema.quantities import counted

_INDENT = "  "


class FigureFormat(StrEnum):
    """File formats of figures."""

    svg = "svg"
    png = "png"
    pdf = "pdf"
    csv = "csv"
    vl_json = "vl.json"


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="shallue2018 or bundled.")],
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
    lake: LakeOption = None,
    release: ReleaseOption = None,
) -> None:
    """Draw the figures of a paper from a lake with its archive.

    Writes each figure as images, as a Vega-Lite specification and as CSV. Reports missing data, also in the figures;
    'losslake fetch shallue2018' downloads all of it.
    """
    from losslake.figures.papers.drawn import drawn_figure, figure_bytes
    from losslake.figures.papers.listing import how_to_get
    from losslake.figures.papers.paper import paper as paper_named
    from losslake.questions.release.view import ReleaseView

    chosen = paper_named(paper)
    numbers = list(dict.fromkeys(figure or [each.number for each in chosen.figures]))
    for number in numbers:
        chosen.figure(number)
    opened = open_lake(lake)
    if release is None and not opened.releases():
        raise LossLakeError(f"the lake in {opened} is empty: {how_to_get(chosen.collection)}")
    view = ReleaseView.open(opened, opened.release(release))
    folder = out or Path(paper)
    empty = panels = 0
    for number in numbers:
        drawn = drawn_figure(view, chosen, number, trials)
        folder.mkdir(parents=True, exist_ok=True)
        names = []
        for ending in format or FigureFormat:
            names.append(f"figure-{number}.{ending}")
            (folder / names[-1]).write_bytes(figure_bytes(drawn, ending.value))
        echo(f"figure {number}: {drawn.figure.title}: {', '.join(names)}")
        for note in drawn.notes:
            echo(f"{_INDENT}{note}")
        empty, panels = empty + drawn.n_missing, panels + len(drawn.panels)
    echo(f"{counted(len(numbers), 'figure')} of {paper} in {folder}, from release {view.number}")
    if empty:
        echo(f"{empty} of {panels} panels have no data: {how_to_get(chosen.collection)}")
