"""`losslake analyze`."""

from __future__ import annotations

import typer


def analyze(context: typer.Context) -> None:
    """Analyze a lake: how its workloads scale, and how sure.

    Regimes of scaling, critical batch size, uncertainty, metaparameters, comparisons:
    'losslake analyze --help' lists the analyses, 'losslake analyze regimes --help' what one of them takes.
    """
    # What each takes is written down with the service, which takes time to load: only those who analyze wait for it.
    from losslake.cli.analyses import analyses

    analyses()(args=context.args, prog_name="losslake analyze", standalone_mode=False)
