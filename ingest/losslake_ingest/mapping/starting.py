"""A starting mapping: what the logs say filled in, what they don't say as a line to complete.

Sampling a source for a starting mapping.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from losslake.lake.store.folder import FolderStore
from losslake_ingest.formats.format import Format
from losslake_ingest.mapping.guess import (
    guessed_axis,
    guessed_field,
    guessed_metric,
    guessed_pattern,
    toml_key,
    toml_string,
)
from losslake_ingest.mapping.load import MAPPING_NAME
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.mapping.metrics import metric_of
from losslake_ingest.mapping.side_files import SideFiles
from losslake_ingest.mapping.template import UnknownField
from losslake_ingest.numbers import TrialNumbers
from losslake_ingest.reading import SourceReading
from losslake_ingest.request import Request, with_defaults
from losslake_ingest.rules import BadMapping, UnknownFormat
from losslake_ingest.run_log import RunLog, Scalar
from losslake_ingest.sources.member import Source, UntilBreak
from losslake_ingest.sources.open import open_source

MOST_SHOWN = 200
LONGEST_VALUE = 60
LONGEST_PATH = 400


@dataclass(frozen=True)
class Sample:
    """Some runs of one format, the format's own mapping, and what the files beside each run say."""

    format: str
    defaults: LogMapping
    runs: Sequence[RunLog]
    side: Sequence[Mapping[str, Scalar]]

    def fields(self) -> dict[str, Scalar]:
        """Every field that a run has, with one of its values."""
        found: dict[str, Scalar] = {}
        for run, side in zip(self.runs, self.side, strict=True):
            found = {**run.fields, **side, **found}
        return found

    def columns(self) -> list[str]:
        return list(dict.fromkeys(column for run in self.runs for rows in run.rows for column in rows.columns))


def starting_mapping(samples: Sequence[Sample]) -> str:
    """The text of a mapping for logs like these; loads as it is, and `ingest --dry-run` says what it still lacks."""
    return "\n".join(line for line in _lines(samples)) + "\n"


def _lines(samples: Sequence[Sample]) -> Iterator[str]:
    formats = ", ".join(sample.format for sample in samples) or "no known format"
    yield f"# A mapping for these logs ({formats}). Check and complete it, then try it with"
    yield "#     losslake ingest PATH --dry-run"
    yield "# docs/mapping.md explains every line."
    yield ""
    fields = {name: value for sample in samples for name, value in sample.fields().items()}
    yield from _collection()
    yield from _path(samples)
    yield from _run(fields, samples)
    yield from _metrics(samples)
    yield from _axes(samples)


def _collection() -> Iterator[str]:
    yield "[collection]"
    yield '# name = "my-runs"   # needed: where these studies come from'
    for key in ("title", "licence", "citation", "source_url"):
        yield f'# {key} = "…"'
    yield ""


def _path(samples: Sequence[Sample]) -> Iterator[str]:
    paths = [run.run for sample in samples for run in sample.runs]
    patterns = list(dict.fromkeys(filter(None, (guessed_pattern(path) for path in paths))))
    yield "[path]"
    yield '# Facts in the paths, e.g. patterns = ["{optimizer}/b{batch_size:int}/seed{seed:int}/*"]. These logs:'
    for path in paths[:3]:
        yield f"#   {_shown(path, LONGEST_PATH)}"
    if patterns:
        yield f"# patterns = [{', '.join(toml_string(pattern) for pattern in patterns[:3])}]"
    yield ""


def _run(fields: Mapping[str, Scalar], samples: Sequence[Sample]) -> Iterator[str]:
    yield "[run]"
    yield '# Each a constant, or "{field}" for something that the log, a file beside it or the path says.'
    names = list(fields)
    for fact in ("dataset", "model", "optimizer", "batch_size"):
        given = [getattr(sample.defaults.run, fact) for sample in samples]
        guess = guessed_field(fact, names)
        if guess is not None:
            yield f'{fact} = "{{{guess}}}"   # for example {_shown(fields[guess])}'
        elif samples and all(given):
            yield f"# {fact} is what the format says: {given[0].text}"
        else:
            yield f"# {fact} = " + ("64" if fact == "batch_size" else '"…"') + "   # needed"
    yield '# batch_unit = "examples"     # or tokens, sequences …'
    yield '# trial_id = "{seed}"         # without it trials are numbered in order of their paths'
    if names:
        yield "# Fields that these logs have, each with one of its values:"
        for name in names[:MOST_SHOWN]:
            yield f"#   {{{_shown(name)}}} = {_shown(fields[name])}"
    yield ""


def _metrics(samples: Sequence[Sample]) -> Iterator[str]:
    yield "[metrics]"
    yield '# logged column = metric "split/quantity"; "" leaves a column out'
    unknown: list[str] = []
    for sample in samples:
        axes = {axis.column for axis in sample.defaults.axes}
        axes |= {name for name in (sample.defaults.elapsed_column, sample.defaults.wall_time_column) if name}
        for column in sample.columns()[:MOST_SHOWN]:
            known = _known(column, sample)
            if known is None:
                if column not in axes:
                    unknown.append(column)
            elif known:
                yield f"# {toml_key(column)} = {toml_string(known)}   # known without this line"
    axis = guessed_axis(unknown)
    for column in dict.fromkeys(unknown):
        guess = guessed_metric(column)
        if guess:
            yield f"{toml_key(column)} = {toml_string(guess)}   # a guess by its name: check it"
        elif axis is None or column != axis[0]:
            yield f'# {toml_key(column)} = ""'
    yield ""


def _known(column: str, sample: Sample) -> str | None:
    """The metric that the format makes of a column, empty where it leaves it out, None where it knows nothing."""
    try:
        return metric_of(column, sample.defaults.metrics, sample.fields()) or ""
    except (KeyError, UnknownField):
        return None


def _axes(samples: Sequence[Sample]) -> Iterator[str]:
    for sample in samples:
        columns = sample.columns()
        own = [axis for axis in sample.defaults.axes if axis.column in columns]
        if own:
            yield f"# The step of {sample.format} is its column {own[0].column}, which counts {own[0].counts}."
            if own[0].counts == "epochs" and own[0].epoch_size is not None:
                for name in own[0].epoch_size.names[:1]:
                    yield f"# [fields]\n# {name} = 50000   # examples in an epoch"
            continue
        guess = guessed_axis(columns)
        yield "" if guess else "# The column that says how far training is:"
        mark = "" if guess else "# "
        column, counts = guess or ("step", "steps")
        yield f"{mark}[[axis]]"
        yield f"{mark}column = {toml_string(column)}"
        yield f'{mark}counts = "{counts}"   # steps, examples or epochs'
        if counts == "epochs":
            yield 'epoch_size = "{epoch_examples}"   # examples in an epoch: a number, or a field that says it'


def _shown(value: Scalar, at_most: int = LONGEST_VALUE) -> str:
    text = str(value)
    text = text if len(text) <= at_most else f"{text[:at_most]}…"
    return "".join(c if c.isprintable() else "?" for c in text)


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
