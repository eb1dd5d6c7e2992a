"""Draft of a mapping file: what the logs contain, with guesses as comments, and lines to complete."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os.path import commonprefix
from pathlib import Path

from losslake_ingest.contracts.rules import BadMapping, Refusal, UnknownFormat
from losslake_ingest.contracts.run_log import Fields, RunLog, Scalar
from losslake_ingest.formats.format import Format
from losslake_ingest.mapping.mapping import MAPPING_NAME, LogMapping
from losslake_ingest.mapping.metrics import guess_metric, metric_of
from losslake_ingest.mapping.stated_facts import (
    ACCUMULATION,
    DEVICES,
    EITHER,
    OF_PROCESS,
    OF_RUN,
    PROCESSES,
    facts_among,
    last_name,
    multipliers,
    natural,
    stated_numbers,
)
from losslake_ingest.mapping.template import PathPattern, UnknownField
from losslake_ingest.mapping.toml import names_of, toml_key, toml_string
from losslake_ingest.pipeline.gather import Stored
from losslake_ingest.pipeline.reading import Request, SourceReading, with_defaults
from losslake_ingest.readers.side_files import SideFiles
from losslake_ingest.readers.text_logs.named_numbers import AXES
from losslake_ingest.readers.text_logs.proposal import advice, proposed_mapping
from losslake_ingest.sources.member import Source, UntilBreak
from losslake_ingest.sources.open import open_source
from losslake_schema.package_files import read_text

_DRAFT = string.Template(read_text("losslake_ingest.pipeline", "draft.toml"))
_LEFT_OUT = '""'
LONGEST_VALUE = 60
LONGEST_PATH = 400
_BATCH_SIZES = (*OF_RUN, *EITHER, "train_batch_size", "b")  # in paths
_SEGMENT = re.compile(r"([A-Za-z][A-Za-z_-]*?)([_=-]?)([0-9]+(?:\.[0-9]+)?(?:[eE]-?[0-9]+)?)")
_SPECIAL = re.compile(r"[{}|*]")  # of templates and patterns
_WORDS = "|".join(sorted(_BATCH_SIZES, key=len, reverse=True))
_OTHER_BATCH = re.compile("(?i)(micro|local|device|gpu|val|valid|validation|eval|test)[_-]?(train)?[_-]?(batch|bs)")
_BATCH_SIZE = re.compile(rf"(?i)^(|.*[^a-z])((?:{_WORDS})[_=-]?)[0-9]+((?:[^0-9.].*)?)$")


def draft_mapping(place: Path | str, formats: tuple[str, ...] = (), output: Path | None = None) -> Path:
    """Write a draft mapping for the logs at a place, by default beside them; return its path.

    Raises BadMapping if the file exists or can't be written, UnknownFormat if no format fits, and UnknownSource.
    """
    source = open_source(place)
    folder = source.path if source.path.is_dir() else source.path.parent
    target = output or folder / MAPPING_NAME
    if target.exists():
        raise BadMapping(f"{target} already exists: edit it, or name another file with --output")
    text = ""
    reading = SourceReading(source, Request(formats=formats), Stored(None, []), LogMapping())
    samples = _samples(reading)
    if not samples:
        text, mapping = proposed_mapping(source)
        reading = SourceReading(source, Request(formats=formats), Stored(None, []), mapping)
        samples = _samples(reading)
    if not samples:
        unread = reading.detected.unread
        why = unread.why if unread else f"see 'losslake formats'{advice(source)}"
        raise UnknownFormat(f"{source.path} holds no run that needs a mapping: {why}")
    try:
        target.write_text(_draft(samples, text), "utf-8")
    except OSError as error:
        raise BadMapping(f"can't write {target}: {error.strerror}") from None
    return target


@dataclass(frozen=True)
class _Sample:
    """The logs of one format: its default mapping, the names of runs, fields with one value each, and columns."""

    format: str
    defaults: LogMapping
    runs: Sequence[str]
    fields: Fields
    columns: Sequence[str]


def _samples(reading: SourceReading) -> list[_Sample]:
    samples = [_sample(reading.part(name), reading.formats[name], reading.mapping) for name in reading.detected.files]
    return [sample for sample in samples if sample.runs]


def _sample(source: Source, log_format: Format, mapping: LogMapping) -> _Sample:
    defaults = with_defaults(mapping, log_format)
    side = SideFiles(source, defaults.files.side)
    runs: list[str] = []
    fields: dict[str, Scalar] = {}
    columns: dict[str, None] = {}
    for item in UntilBreak(log_format.read(source, defaults)):  # a broken source is sampled up to its break
        if isinstance(item, RunLog):
            runs.append(item.run)
            with suppress(Refusal):  # as an ingest says
                fields = {**side.beside(item.run), **fields}
            fields = {**item.fields, **fields}
            for rows in item.rows:
                columns |= dict.fromkeys(rows.columns)
                fields = {**rows.fields, **fields}
    return _Sample(log_format.name, defaults, runs, fields, list(columns))


def _draft(samples: Sequence[_Sample], expressions: str) -> str:
    """Return the mapping. It loads as it is, and `ingest --dry-run` reports what is missing.

    expressions: lines that read a text log.
    """
    paths = [run for sample in samples for run in sample.runs]
    patterns = guess_patterns(paths)
    in_paths = {name for pattern in patterns for name in PathPattern.parse(pattern).kinds}
    fields = {name: value for sample in samples for name, value in sample.fields.items()}
    units = {str(each.defaults.run.batch_unit.text) for each in samples if each.defaults.run.batch_unit is not None}
    unit = units.pop() if len(units) == 1 else "examples"
    return _DRAFT.substitute(
        formats=", ".join(sample.format for sample in samples),
        text=f"# Guessed from the lines of the log: each named group is a column.\n{expressions}\n" * bool(expressions),
        paths=_lines(_paths(paths, patterns)),
        facts=_lines(_facts(fields, samples, in_paths, unit)),
        unit=unit,
        fields=_lines(_fields(fields)),
        metrics=_lines(_metrics(samples)),
        axes="\n".join(line for sample in samples for line in _axis(sample)),
    )


def _lines(lines: Iterator[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _paths(paths: Sequence[str], patterns: Sequence[str]) -> Iterator[str]:
    for path in paths[:3]:
        yield f"#   {_shown(path, LONGEST_PATH)}"
    if patterns:
        yield f"# patterns = [{', '.join(toml_string(pattern) for pattern in patterns[:3])}]   # guessed"


def _facts(fields: Fields, samples: Sequence[_Sample], in_paths: set[str], unit: str) -> Iterator[str]:
    named = {field: fields[field] for field in reversed(list(fields)) if not _SPECIAL.search(field)}
    by_name = {last_name(field): field for field in named}
    for fact, names in names_of("study").items():
        guess = next((by_name[name] for name in names if name in by_name), None)
        if guess is not None:
            template = toml_string(f"{{{guess}}}")
            yield f"# {fact} = {template}   # guessed by its name, for example {_shown(fields[guess])}"
        else:
            yield _elsewhere(fact, fields, samples, in_paths) or f'# {fact} = "…"   # needed'
    yield _batch_size(named, samples, in_paths) or f'# batch_size = "…"   # needed, a number of {unit}'


def _fields(fields: Fields) -> Iterator[str]:
    if fields:
        yield "# Fields of these logs, each with one of its values:"
    for name in fields:
        yield f"#   {{{_shown(name)}}} = {_shown(fields[name])}"


def _elsewhere(fact: str, fields: Fields, samples: Sequence[_Sample], in_paths: set[str]) -> str | None:
    """Return a line for a fact that the path or the format gives; None if neither does."""
    if fact in in_paths:
        return f"# {fact} comes from the path, once the # before patterns is removed"
    templates = [getattr(sample.defaults.run, fact) for sample in samples]
    with suppress(UnknownField):
        if all(templates):
            return (
                f"# {fact} comes from the format: {templates[0].text}, for example {_shown(templates[0].fill(fields))}"
            )
    return None


def _batch_size(fields: Fields, samples: Sequence[_Sample], in_paths: set[str]) -> str | None:
    """Return a line for the batch size: that of an update, or what the one of a process has to be multiplied by."""
    is_in_path = "batch_size" in in_paths
    facts = facts_among({**fields, "batch_size": 1} if is_in_path else fields)
    factors = multipliers(facts)
    above_1 = [field for field in factors if natural(facts[field]) != 1]
    line = _elsewhere("batch_size", fields, samples, in_paths)
    if line is not None and not (is_in_path and above_1):
        return line
    of_run, of_process, either = (list(stated_numbers(facts, names)) for names in (OF_RUN, OF_PROCESS, EITHER))
    if of_run or (either and not above_1):
        field = (of_run or either)[0]
        comment = "" if of_run else "; if it is of one process, times devices and accumulation"
        comment = '; with batch_unit = "tokens"' if "tokens" in last_name(field) else comment
        product, comment = field, f"guessed by its name, for example {_shown(facts[field])}{comment}"
    elif either:
        product, comment = " * ".join((either[0], *above_1)), f"guessed: {either[0]} may be that of one process"
    elif of_process:
        words = {"devices": (*PROCESSES, *DEVICES), "accumulation": ACCUMULATION}
        unknown = [word for word, names in words.items() if not any(last_name(field) in names for field in factors)]
        product, comment = " * ".join((of_process[0], *factors, *unknown)), "guessed, of one process"
        comment += ": complete the product" if unknown else ""
    else:
        return None
    return f"# batch_size = {toml_string(f'{{{product}}}')}   # {comment}"


def _metrics(samples: Sequence[_Sample]) -> Iterator[str]:
    unknown: dict[str, None] = {}
    for sample in samples:
        axes = {axis.column for axis in sample.defaults.axis} | {*vars(sample.defaults.time).values()}
        fields = {**sample.defaults.fields, **sample.fields}
        for column in sample.columns:
            try:
                metric = metric_of(column, sample.defaults.metrics, fields)
            except (KeyError, UnknownField):
                unknown |= {} if column in axes else {column: None}
            else:
                if metric:
                    yield f"# {toml_key(column)} = {toml_string(metric.name)}   # known without this line"
    axis = _guessed_axis(list(unknown))
    for column in unknown:
        guess = _guessed_metric(column)
        if guess != _LEFT_OUT or axis is None or column != axis[0]:
            yield f"# {toml_key(column)} = {guess}"


def _guessed_metric(column: str) -> str:
    """Return the value of a line for a column, as far as its name says the quantity, and the split."""
    for prefix in ("", "train_"):
        for name in (column, column.removesuffix("_percent")):
            if guess := guess_metric(f"{prefix}{name}"):
                metric = toml_string(guess)
                metric = metric if name == column else f"{{ metric = {metric}, scale = 0.01 }}"
                of_training = f"{_LEFT_OUT}   # or {metric}, guessed by its name, or of val or test"
                return of_training if prefix else f"{metric}   # guessed by its name"
    return _LEFT_OUT


def _axis(sample: _Sample) -> Iterator[str]:
    logged = (axis for axis in sample.defaults.axis if axis.column in sample.columns)
    axis = next((axis for axis in logged if any(axis.holds(c) for c in sample.columns if c != axis.column)), None)
    if axis is None:
        guess = _guessed_axis(sample.columns)
        column, counts = guess or ("step", "steps")
        yield "# The column with the position in training" + (", guessed by its name:" if guess else ":")
        yield _section(column, f'"{counts}"   # steps, examples or epochs')
        if counts == "epochs":
            yield '# epoch_size = "{epoch_examples}"   # examples per epoch: a number or a field'
    elif axis.counts == "calls":
        yield f"# The step of {sample.format} is its column {axis.column}. It counts calls unless the training sets it:"
        yield _section(axis.column, '"updates"   # or updates_from_zero, or calls with scale = the updates between two')
    else:
        yield f"# The step of {sample.format} is its column {axis.column}, which counts {axis.counts}."
        for name in axis.epoch_size.names[:1] if axis.counts == "epochs" and axis.epoch_size is not None else ():
            yield f'# [fields]\n# {name} = "…"   # needed: the number of examples in an epoch'


def _section(column: str, counts: str) -> str:
    return f"# [[axis]]\n# column = {toml_string(column)}\n# counts = {counts}"


def _guessed_axis(columns: Sequence[str]) -> tuple[str, str] | None:
    """Return the column that looks like an axis and what it counts: steps before examples before epochs."""
    names = ((name, counts) for counts, names in AXES.items() for name in names)
    return next(((column, counts) for name, counts in names for column in columns if column.lower() == name), None)


def guess_patterns(paths: Sequence[str]) -> list[str]:
    """Return a path pattern for the names at each depth, such as `b64/seed1/metrics.csv`; none without a number."""
    by_depth: dict[int, list[list[str]]] = {}
    for path in paths:
        names = path.partition("#")[0].split("/")
        by_depth.setdefault(len(names), []).append(names)
    patterns = []
    for same_depth in by_depth.values():
        fields: set[str] = set()
        parts = [_guess_part(list(dict.fromkeys(names)), fields) for names in zip(*same_depth, strict=True)]
        patterns += ["/".join(parts)] if fields else []
    return patterns


def _guess_part(names: Sequence[str], fields: set[str]) -> str:
    """Return the pattern of the names at one place of the paths. fields: those of the places before; added to."""
    sizes = [digits[0] for name in names if len(digits := _BATCH_SIZE.findall(name)) == 1]
    if (
        len(sizes) == len(names)
        and not any(_SPECIAL.search(name) or _OTHER_BATCH.search(name) for name in names)
        and len({word for _, word, _ in sizes}) == 1
        and "batch_size" not in fields
    ):
        fields.add("batch_size")
        heads, (word, *_), tails = (list(texts) for texts in zip(*sizes, strict=True))
        head = commonprefix([text[::-1] for text in heads])[::-1]  # noqa: RUF071 - of characters
        tail = commonprefix(tails)  # noqa: RUF071 - of characters
        before, after = "*" * (len(set(heads)) > 1), "*" * (len(set(tails)) > 1)
        return f"{before}{head}{word}{{batch_size:int}}{tail}{after}"
    matches = [_SEGMENT.fullmatch(name) for name in names]
    words = {match and match.group(1, 2) for match in matches}
    first = matches[0]
    if first is not None and len(words) == 1:
        plain = re.sub("[^a-z0-9]+", "_", first[1].lower()).strip("_")
        field = "batch_size" if plain in _BATCH_SIZES else plain
        if field not in fields:
            fields.add(field)
            kind = "int" if all(match is not None and match[3].isdigit() for match in matches) else "float"
            return f"{first[1]}{first[2]}{{{field}:{kind}}}"
    return names[0] if len(names) == 1 and not _SPECIAL.search(names[0]) else "*"


def _shown(value: Scalar, limit: int = LONGEST_VALUE) -> str:
    text = str(value)
    text = text if len(text) <= limit else f"{text[:limit]}…"
    return "".join(c if c.isprintable() else "?" for c in text)
