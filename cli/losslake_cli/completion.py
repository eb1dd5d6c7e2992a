"""Completion in the shell of workloads, metrics and releases, from the lake; nothing is built for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import typer

from losslake.output.imports import without_pandas

if TYPE_CHECKING:
    from losslake.lake.lake import Lake

Names = Callable[["Lake", typer.Context], Iterable[str]]


def _completing(names: Names) -> Callable[[typer.Context, str], list[str]]:
    """Return a completion of names that start as what was typed; of none where the lake can't be read."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        without_pandas()
        from losslake.lake.lake import SECONDS_TO_ANSWER, Lake

        try:
            candidates = names(Lake.open(context.params.get("lake"), SECONDS_TO_ANSWER), context)
            return sorted({name for name in candidates if name.startswith(incomplete)})
        except Exception:  # noqa: BLE001 a message would land in the line that is being typed
            return []

    return complete


def _studies(lake: Lake, context: typer.Context) -> Iterator[tuple[str, list[str]]]:
    """Yield the workload and the metrics of each study of a release."""
    from losslake.lake.data_files import read_small_table
    from losslake_schema.tables import STUDY_KEYS

    files = lake.files(lake.release(context.params.get("release")), partitioned=False)
    table = read_small_table(lake.store, files, "studies")
    columns = [table[key].to_pylist() for key in (*STUDY_KEYS[:4], "metrics")]
    for *keys, metrics in zip(*columns, strict=True):
        yield "/".join(keys), metrics


def _metrics(lake: Lake, context: typer.Context) -> Iterator[str]:
    """Yield the metrics of the workload that was given, or of all."""
    studies = list(_studies(lake, context))
    # An option whose value is being typed leaves the arguments unparsed.
    arguments = {*(context.params.get("workload") or ()), *context.args}
    of_workload = [metrics for name, metrics in studies if name in arguments]
    for metrics in of_workload or [metrics for _, metrics in studies]:
        yield from metrics


complete_workload = _completing(lambda lake, context: (name for name, _ in _studies(lake, context)))
complete_metric = _completing(_metrics)
complete_release = _completing(lambda lake, _: (str(each.number) for each in lake.releases()))
