"""`losslake init`."""

from __future__ import annotations

from losslake.cli.console import LakeOption, say


def init(lake: LakeOption = None) -> None:
    """Make an empty lake, or bring one up to date.

    'losslake ingest' also makes a lake if there is none.
    """
    from losslake.lake.lake import Lake

    made = Lake.migrate(lake)
    say(f"the lake is in {made}")
    say(f"next: losslake ingest PATH --lake {made.typed}")
