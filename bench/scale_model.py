"""What 10^9, 10^11 and 10^13 measurements would cost, from what was measured: `python -m bench.scale_model`.

Prints the tables of `docs/scale.md`. Each constant says where it comes from; everything else is arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

MEASUREMENTS = (1e9, 1e11, 1e13)

# From bench/RESULTS.md, scale 1.0: 394,823,522 measurements, 194,399 trials, 454 studies, 1,374 files.
PARQUET_BYTES = 2852e6 / 394_823_522
SERVING_BYTES = 2416e6 / 394_823_522
TRIAL_BYTES = 17.9e6 / 194_399
INGEST_S = 179 / 394_823_522
COLD_S = 15.3 / 394_823_522

# From a lake of 100,000 studies with 300,000 trials, docs/scale.md.
STUDY_INGEST_S = 9.5e-3
INGEST_BYTES, STUDY_INGEST_BYTES = 270e6, 19e3
STUDY_COLD_S = 2.4e-3
OPEN_S, STUDY_OPEN_S = 0.01, 3.5e-6
FILES_A_STUDY = 2.3
MEASUREMENT_FILES = 0.56  # of all data files
FILE_BYTES = 58.0
FILE_AVRO_BYTES = 305.0
FILE_LIST_S = 8e-6
FILE_PLAN_S = 22e-6
FILE_OPEN_S = 170e-6
STUDY_CATALOG_BYTES = 540.0
STUDY_SERVING_BYTES = 5.1e3
TRIAL_SERVING_BYTES = 127.0


@dataclass(frozen=True)
class Shape:
    """The distribution of measurements over studies."""

    name: str
    of_study: float
    of_trial: float


SHAPES = (
    Shape("searches as published: 870,000 measurements a study, 2,000 a trial", 870e3, 2031),
    Shape("single runs: three trials a study, 10,000 measurements a trial", 30e3, 10e3),
)


@dataclass(frozen=True)
class Lake:
    """A number of measurements in a shape."""

    shape: Shape
    measurements: float

    @property
    def studies(self) -> float:
        return self.measurements / self.shape.of_study

    @property
    def trials(self) -> float:
        return self.measurements / self.shape.of_trial

    @property
    def files(self) -> float:
        return self.studies * FILES_A_STUDY

    @property
    def planning_s(self) -> float:
        """Of SQL over all measurements, whose files are a little more than half of all."""
        return self.files * MEASUREMENT_FILES * FILE_PLAN_S

    def ingest_s(self, cores: int) -> float:
        return (self.measurements * INGEST_S + self.studies * STUDY_INGEST_S) / cores


MeasuredRow = tuple[str, Callable[[Lake], str]]


def number(value: float) -> str:
    """Return a count in two digits with a word for its size."""
    for size, word in ((1e12, " trillion"), (1e9, " billion"), (1e6, " million")):
        if value >= size:
            return f"{value / size:.2g}{word}" if value < 100 * size else f"{value / size:,.0f}{word}"
    return f"{float(f'{value:.2g}'):,.0f}"


def size(value: float) -> str:
    """Return bytes in two digits."""
    for unit, word in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if value >= unit:
            return f"{float(f'{value / unit:.2g}'):,.3g} {word}"
    return f"{float(f'{value / 1e3:.2g}'):g} kB"


def span(seconds: float) -> str:
    """Return a time in two digits."""
    for unit, word in ((86400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s")):
        if seconds >= 2 * unit:
            return f"{float(f'{seconds / unit:.2g}'):,.3g} {word}"
    return f"{float(f'{seconds * 1000:.2g}'):g} ms"


ROWS: tuple[MeasuredRow, ...] = (
    ("studies, which are partitions", lambda lake: number(lake.studies)),
    ("data files", lambda lake: number(lake.files)),
    ("mean size of a data file", lambda lake: size(lake.measurements * PARQUET_BYTES / lake.files)),
    ("data files together", lambda lake: size(lake.measurements * PARQUET_BYTES)),
    ("`studies` and `trials`, anew in each release", lambda lake: size(lake.trials * TRIAL_BYTES)),
    ("file list of a release, anew in each", lambda lake: size(lake.files * FILE_BYTES)),
    ("CPU to read the file list", lambda lake: span(lake.files * FILE_LIST_S)),
    ("Iceberg's lists of the same files", lambda lake: size(lake.files * FILE_AVRO_BYTES)),
    ("catalog: ledger and memory of one ingest", lambda lake: size(lake.studies * STUDY_CATALOG_BYTES)),
    ("CPU to plan SQL over measurements", lambda lake: span(lake.planning_s)),
    ("CPU to count them all", lambda lake: span(lake.planning_s + lake.files * MEASUREMENT_FILES * FILE_OPEN_S)),
    ("serving files", lambda lake: size(lake.measurements * SERVING_BYTES + lake.studies * STUDY_SERVING_BYTES)),
    ("… of these, the database", lambda lake: size(lake.trials * TRIAL_SERVING_BYTES)),
    ("CPU to make them all", lambda lake: span(lake.measurements * COLD_S + lake.studies * STUDY_COLD_S)),
    ("opening, once they are made", lambda lake: span(OPEN_S + lake.studies * STUDY_OPEN_S)),
    ("memory of one ingest of everything", lambda lake: size(INGEST_BYTES + lake.studies * STUDY_INGEST_BYTES)),
    ("ingest on 2 cores", lambda lake: span(lake.ingest_s(2))),
    ("ingest on 16 cores", lambda lake: span(lake.ingest_s(16))),
    ("ingest on 128 cores", lambda lake: span(lake.ingest_s(128))),
    ("ingest on 1,024 cores", lambda lake: span(lake.ingest_s(1024))),
)


def table(shape: Shape) -> Iterator[str]:
    """Yield the costs of a shape in Markdown."""
    yield f"| {shape.name} | {' | '.join(f'10^{len(str(int(n))) - 1}' for n in MEASUREMENTS)} |"
    yield f"| --- |{' ---: |' * len(MEASUREMENTS)}"
    for name, of in ROWS:
        yield f"| {name} | {' | '.join(of(Lake(shape, n)) for n in MEASUREMENTS)} |"


def main() -> None:
    for shape in SHAPES:
        print("\n".join(table(shape)), end="\n\n")


if __name__ == "__main__":
    main()
