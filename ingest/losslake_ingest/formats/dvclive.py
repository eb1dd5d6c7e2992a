"""Runs of DVCLive: a TSV for each metric, `plots/metrics/val/loss.tsv`, in one folder for each run.

Source: dvclive, `Metric.output_path` and `Metric.dump` in plots/metric.py; the column is the last part of the name.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule, shown
from losslake_ingest.contracts.run_log import LARGEST_CELLS, Damage, RunLog, remarks_in
from losslake_ingest.formats.format import BundledFormat, Glimpse, read_all_files
from losslake_ingest.mapping.evaluations import not_a_number
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.tables.csv_table import read_csv
from losslake_ingest.readers.tables.runs import runs_of
from losslake_ingest.readers.tables.table import TableFile
from losslake_ingest.sources.member import Member, Source

_PATH = re.compile(r"(?:(?P<folder>.+?)/)?metrics/(?P<metric>.+)\.tsv")
_PLOTS = re.compile(r"(?:^|/)plots$")
_STEP = "step"
_COLUMN = 100  # A column takes as much memory as so many cells, beside its own.
_LOST = Damage("the file of a metric can't be read: left out")
_HEADER = re.compile(rb"(?:timestamp\t)?step\t([^\t\r\n]+)\r?\n")
LAYOUT = "plots/metrics/val/loss.tsv"


class DVCLive(BundledFormat):
    """The format of DVCLive: one run per folder with plots/metrics."""

    name = "dvclive"

    def detect(self, file: Glimpse) -> float:
        """Recognize a metric by its path and header."""
        return 0.9 if _PATH.fullmatch(file.path) and _HEADER.match(file.start) else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """Yield one run per folder."""
        pending: dict[str, list[RunLog]] = {}
        flushed: set[str] = set()
        seen: set[str] = set()
        n_cells = 0

        def add(member: Member) -> Iterator[RunLog | Quarantined]:
            nonlocal n_cells
            match = _PATH.fullmatch(member.path)
            assert match is not None
            run = _PLOTS.sub("", match["folder"] or "") or "."
            if run in flushed or member.path in seen:
                message = "the archive holds it twice, or much later than its run's other files: sort the archive"
                raise Refusal(Rule.DUPLICATE_FILE, message)
            seen.add(member.path)
            parts = pending.setdefault(run, [])
            try:
                parts.append(_part(source.name, member, match["metric"]))
            except Refusal:
                parts.append(RunLog(member.path, {}, [], remarks={_LOST: 1}))
                raise
            n_cells += sum(len(column) + _COLUMN for rows in parts[-1].rows for column in rows.columns.values())
            if n_cells > LARGEST_CELLS:
                flushed.update(pending)
                yield from _merged(pending)
                pending.clear()
                n_cells = 0

        return read_all_files(source, lambda path: _PATH.fullmatch(path) is not None, add, lambda: _merged(pending))


def metric_in(path: str, data: bytes) -> str | None:
    """Return the column of a file that is named and begins as DVCLive writes a metric, else None."""
    header = _HEADER.match(data)
    column = header[1].decode("utf-8", "replace") if header else None
    return column if path.rpartition("/")[2] == f"{column}.tsv" else None


def folder_above(path: Path) -> Path | None:
    """Return the folder of the run that a local path lies in, where a folder `metrics` shows it; else None."""
    inner = path.resolve()
    metrics = next((folder for folder in (inner, *inner.parents) if folder.name == "metrics"), None)
    if metrics is None or not metrics.is_dir():
        return None
    return metrics.parents[1] if metrics.parent.name == "plots" else metrics.parent


def _part(source: str, member: Member, metric: str) -> RunLog:
    """Return the log of a metric with its column by the full name. Raises Refusal."""
    file = TableFile(source, member.path, hashlib.sha256(member.data).hexdigest())
    (part,) = runs_of(read_csv(member.data), file, None)
    column = metric.rpartition("/")[2]
    if isinstance(part, Quarantined) or not {column, _STEP} <= part.rows[0].columns.keys() | part.rows[0].texts.keys():
        message = f"there is no column {shown(column)} or no {_STEP} with numbers, as DVCLive writes it"
        raise Refusal(Rule.BAD_HEADER, message, 1)
    for name, cell in part.rows[0].texts.items():
        if cell.text and (name == column or (name == _STEP and name in part.rows[0].columns)):
            raise not_a_number(name, cell)
    return replace(part, rows=[rows.renamed(column, metric) for rows in part.rows])


def _merged(pending: Mapping[str, Sequence[RunLog]]) -> Iterator[RunLog]:
    """Yield each run with the rows of all its metrics."""
    for run, parts in sorted(pending.items()):
        files = {path: sha256 for part in parts for path, sha256 in part.files.items()}
        if files:
            remarks: Counter[str] = Counter()
            for part in parts:
                remarks.update(remarks_in(part.remarks, part.run))
            rows = [rows for part in parts for rows in part.rows]
            yield RunLog(run, dict(sorted(files.items())), rows, remarks=remarks)


FORMAT = DVCLive()
