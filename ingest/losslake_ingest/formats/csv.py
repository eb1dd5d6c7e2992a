"""Any wide CSV with a header, a row per evaluation: Keras CSVLogger, Lightning, Ultralytics, and tables made by hand.

Sources: https://keras.io/api/callbacks/csv_logger/, `CSVLogger` in lightning.pytorch.loggers.csv_logs (metrics.csv),
and `save_metrics` in ultralytics/engine/trainer.py (results.csv).
"""

from __future__ import annotations

from collections.abc import Iterator

from losslake_ingest.formats.defaults_of import defaults_of
from losslake_ingest.formats.format import GLIMPSE, Glimpse
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.report import Quarantined
from losslake_ingest.run_log import RunLog
from losslake_ingest.sources.member import Source
from losslake_ingest.tables.csv_layout import find_layout, is_number
from losslake_ingest.tables.csv_table import read_csv
from losslake_ingest.tables.files import read_tables
from losslake_ingest.tables.table import BadTable

_ENDINGS = (".csv", ".tsv")
_KNOWN_FILES = ("metrics.csv", "results.csv")
_KERAS_METRICS = {"loss", "val_loss", "accuracy", "val_accuracy"}


class WideCsv:
    """Tables with a column per axis and metric."""

    name = "csv"
    reads = "a .csv or .tsv with a header and a row per evaluation (Keras, Lightning, Ultralytics, any wide table)"
    needs = "collection, dataset, model, optimizer, batch_size, metrics, and the axis if it is no step or epoch"
    defaults = defaults_of("csv")

    def detect(self, file: Glimpse) -> float:
        """How surely this is a table of evaluations: by its header and its first row."""
        if not file.name.lower().endswith(_ENDINGS):
            return 0.0
        try:
            layout = find_layout(file.start)
        except BadTable:
            return 0.0
        if len(layout.names) < 2:
            return 0.0
        first, newline, _ = file.start[layout.start :].partition(b"\n")
        if newline or len(file.start) < GLIMPSE:
            cells = first.decode("utf-8", "replace").split(layout.delimiter)
            if first.strip() and not any(is_number(cell.strip().strip('"')) for cell in cells):
                return 0.0
        is_keras = layout.names[0] == "epoch" and not _KERAS_METRICS.isdisjoint(layout.names)
        return 0.5 if is_keras or file.name in _KNOWN_FILES else 0.3

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """One run per file, or per value of the mapping's run column."""
        return read_tables(source, _ENDINGS, lambda _, data, run_column: read_csv(data, run_column), mapping)


FORMAT = WideCsv()
