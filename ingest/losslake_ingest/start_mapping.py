"""Sampling a source for a starting mapping."""

from __future__ import annotations

from pathlib import Path

from losslake.lake.store.folder import FolderStore
from losslake_ingest.errors import BadMapping, UnknownFormat
from losslake_ingest.formats.format import Format
from losslake_ingest.mapping.load import MAPPING_NAME
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.mapping.side_files import SideFiles
from losslake_ingest.mapping.starting import Sample, starting_mapping
from losslake_ingest.numbers import TrialNumbers
from losslake_ingest.reading import SourceReading
from losslake_ingest.request import Request, with_defaults
from losslake_ingest.run_log import RunLog
from losslake_ingest.sources.member import Source
from losslake_ingest.sources.open import open_source
from losslake_ingest.sources.until_break import UntilBreak

MOST_RUNS = 50


def start_mapping(place: Path | str, formats: tuple[str, ...] = (), output: Path | None = None) -> Path:
    """Write a starting mapping for the logs at a place, by default beside them; returns where it is.

    Raises BadMapping when there is a file already, UnknownFormat when no format fits, UnknownSource.
    """
    source = open_source(place)
    request = Request(formats=formats)
    folder = source.path if source.path.is_dir() else source.path.parent
    target = output or folder / MAPPING_NAME
    if target.exists():
        raise BadMapping(f"{target} is there already: change it, or name another file with --output")
    reading = SourceReading(source, request, TrialNumbers(FolderStore(Path()), []), {}, LogMapping())
    samples = [_sample(reading.part(name), reading.formats[name]) for name in reading.detected.files]
    samples = [sample for sample in samples if sample.runs]
    if not samples:
        raise UnknownFormat(f"{source.path} holds no run that needs a mapping: see 'losslake formats'")
    try:
        target.write_text(starting_mapping(samples), "utf-8")
    except OSError as error:
        raise BadMapping(f"can't write {target}: {error.strerror}") from None
    return target


def _sample(source: Source, log_format: Format) -> Sample:
    defaults = with_defaults(LogMapping(), log_format)
    side = SideFiles.read(source, defaults.side_files)
    runs: list[RunLog] = []
    for item in UntilBreak(log_format.read(source, defaults)):  # what comes before a break is sample enough
        if isinstance(item, RunLog):
            runs.append(item)
        if len(runs) >= MOST_RUNS:
            break
    return Sample(log_format.name, defaults, runs, [side.beside(run.run) for run in runs])
