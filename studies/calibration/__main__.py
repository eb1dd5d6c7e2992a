"""Measure how often intervals and forecasts hold, and write what answers state of them.

python -m studies.calibration intervals             # minutes on one core
python -m studies.calibration loss-laws             # minutes on one core
python -m studies.calibration forecasts --lake DIR  # minutes; a lake with the collections, as that of `make run`

All write a table into docs/analysis.md, and all but loss-laws write data into losslake/analysis. `--quick` only prints
the table, from about a tenth of the simulations or studies.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from studies.calibration.forecasts import measure_forecasts
from studies.calibration.intervals import measure_intervals
from studies.calibration.loss_laws import measure_loss_laws


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the calibration that is named."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.calibration",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    quick = argparse.ArgumentParser(add_help=False)
    quick.add_argument("--quick", action="store_true", help="print the table of a part, and write nothing")
    kinds = parser.add_subparsers(dest="kind", required=True)
    kinds.add_parser("intervals", parents=[quick], help="of simulated studies")
    kinds.add_parser("loss-laws", parents=[quick], help="of simulated runs of a loss law")
    forecasts = kinds.add_parser("forecasts", parents=[quick], help="of stored trials that are held back")
    forecasts.add_argument("--lake", type=Path, required=True, help="folder of a lake with the collections")
    options = parser.parse_args(arguments)
    if options.kind == "intervals":
        measure_intervals(is_quick=options.quick)
    elif options.kind == "loss-laws":
        measure_loss_laws(is_quick=options.quick)
    else:
        measure_forecasts(options.lake, is_quick=options.quick)


if __name__ == "__main__":
    main()
