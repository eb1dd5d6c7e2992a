"""Placement of a run: its study, trial, curve, goals and collection, from the log and the mapping."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from urllib.parse import quote

import numpy as np

from losslake_ingest.contracts.rules import MissingField, Refusal, Rule, mapping_lacks, shown
from losslake_ingest.contracts.run_log import Damage, Fields, RunLog, Scalar
from losslake_ingest.contracts.study import Curves, StudyFacts, TrialFacts, is_exact_float
from losslake_ingest.mapping.evaluations import curve_of, on_common_steps
from losslake_ingest.mapping.goals import BEST, REACHED, add_margins, goals_of, logged_goals
from losslake_ingest.mapping.logged_schedule import logged_facts
from losslake_ingest.mapping.mapping import LogMapping, fits, mapping_for
from losslake_ingest.mapping.repeats import Measured
from losslake_ingest.mapping.schedules import NamedSchedule, schedule_of
from losslake_ingest.mapping.stated_facts import (
    BatchSize,
    check_epochs,
    check_seed,
    check_train_steps,
    facts_among,
    natural,
)
from losslake_ingest.mapping.template import Template, UnknownField, fill_if_known, fill_known
from losslake_ingest.mapping.toml import toml_key, toml_string
from losslake_schema.batch_schedule import ATTRIBUTE, NAME_ATTRIBUTE
from losslake_schema.contributors import Contributor, checked_contributors
from losslake_schema.names import CHANGES, Study, Workload, name_problem
from losslake_schema.registry import CollectionMetadata, Direction, Goal, metric_named
from losslake_schema.statuses import COMPLETE, INCOMPLETE, STORED_STATUSES

_IDENTITY = ("dataset", "model", "optimizer", "batch_size")  # a column or field of this name needs no line
# Digits behind a leading 0, as in 007, are a name.
_SPELLED = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?([eE][-+]?[0-9]{1,2})?")
STATUS_ASSUMED = "run whose log doesn't say how it ended: stored as COMPLETE"


@dataclass(frozen=True)
class PlacedRun:
    """A run with its place in the database.

    trial_id: None if the ingest assigns it. labels: the attributes that aren't metaparameters. steps: None stands for
    the last of the curve. copies: other logs of the same run, which a bundle has. keeps_repeats: it is a trial of its
    own, even if another one of its study has its curve.
    """

    run: str
    study: Study
    facts: StudyFacts
    trial_id: int | None
    status: str
    parameters: Mapping[str, float]
    attributes: Mapping[str, str]
    curve: Curves
    files: Mapping[str, str]
    collection: CollectionMetadata
    labels: frozenset[str] = frozenset()
    goals: tuple[Goal, ...] = ()
    directions: Collection[tuple[str, Direction]] = ()
    left_out: Sequence[str] = ()
    remarks: Mapping[str, int] = field(default_factory=dict)
    steps: int | None = None
    contributors: tuple[Contributor, ...] = ()
    copies: tuple[TrialFacts, ...] = ()
    keeps_repeats: bool = False

    def as_trial(self, number: int) -> TrialFacts:
        """Return the facts of the run as those of the trial with a number."""
        steps = self.steps if self.steps is not None else int(self.curve.steps[-1])
        return TrialFacts(number, self.status, steps, self.parameters, self.attributes, self.run, self.sha256)

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the run's file, or of its files' digests in order of path."""
        if len(self.files) == 1:
            return next(iter(self.files.values()))
        return hashlib.sha256("".join(self.files[path] for path in sorted(self.files)).encode()).hexdigest()

    @cached_property
    def log(self) -> tuple[str, str]:
        """The SHA-256 of the run's bytes, and a name if its files may hold other runs, too; empty if not."""
        is_whole = (
            self.run == "." or "#" in self.run or all(f"{path}/".startswith(f"{self.run}/") for path in self.files)
        )
        return self.sha256, within_file(self.run) if is_whole else self.run


def merged_run(first: PlacedRun, second: PlacedRun) -> PlacedRun | None:
    """Merge two runs of one trial under the first one's name; None if they can't be logs of the same trial.

    They can't if a metric occurs in both, if their status or a common metaparameter differs, or if together they are
    too large. Attributes that differ describe the logs and not the trial: they are dropped. Keras, for example, writes
    training and validation measurements as two runs.
    """
    differ = any(second.parameters.get(name, value) != value for name, value in first.parameters.items())
    if differ or first.curve.values.keys() & second.curve.values.keys() or first.status != second.status:
        return None
    attributes = {**second.attributes, **first.attributes}
    try:
        curve = on_common_steps(_measured(first.curve) | _measured(second.curve))
    except Refusal:
        return None
    return replace(
        first,
        parameters={**second.parameters, **first.parameters},
        attributes={name: text for name, text in attributes.items() if second.attributes.get(name, text) == text},
        curve=curve,
        files={**second.files, **first.files},
        contributors=tuple(dict.fromkeys((*first.contributors, *second.contributors))),
    )


def _measured(curve: Curves) -> dict[str, Measured]:
    """Return each metric of a curve at the steps at which it was measured."""
    elapsed = curve.elapsed_s if curve.elapsed_s is not None else np.full(len(curve.steps), np.nan)
    measured: dict[str, Measured] = {}
    for metric, values in curve.values.items():
        missing = curve.missing.get(metric)
        rows = ~missing if missing is not None else slice(None)
        measured[metric] = (curve.steps[rows], values[rows], elapsed[rows])
    return measured


def within_file(run: str) -> str:
    """Return the name of a run within its file, which is empty where a file is one run."""
    return run.partition("#")[2]


def place(log: RunLog, mapping: LogMapping, source: str, side: Fields) -> PlacedRun:
    """Place a run. Raises Refusal with all missing fields at once, or with the rule that the run breaks.

    source: the path of the source, which precedes the run's own path. side: the fields of files beside the log.
    """
    in_path, facts = _fields_in_path(mapping, f"{source}/{log.run}"), facts_among({**side, **log.fields})
    fields = {**_path_in_repository(mapping, source, log), **_known_fields(log, mapping, in_path, side)}
    mapping = mapping_for({**log.guessed, **mapping.fields, **fields}, mapping)
    fields = {**log.guessed, **mapping.fields, **fields}
    schedule = schedule_of(log, mapping, fields, facts)
    study = _study(fields, mapping, schedule)
    fields.update(study.key() if study.batch_size != CHANGES else vars(study.workload))
    trial_id = _whole(
        fields, "trial_id", mapping.run.trial_id or (Template("{trial_id}") if "trial_id" in in_path else None)
    )
    train_steps = _whole(fields, "train_steps", mapping.run.train_steps) or 0
    planned = {"train_steps": train_steps} if train_steps else {}
    try:
        _check_facts(mapping, study, train_steps, fields, in_path, facts, has_schedule=schedule is not None)
        trial = curve_of(log, mapping, study.batch_size, {**fields, **planned})
        check_epochs(log, mapping, trial.computed_steps, facts)
    except Refusal as refusal:
        refusal.workload = study.workload
        raise
    status, remarks = _status(log, mapping, fields)
    remarks.update(trial.remarks)
    in_paths = {name for pattern in mapping.path.patterns for name in pattern.kinds}
    path_fields = {name: fields[name] for name in sorted(in_paths) if name in fields and name not in log.parameters}
    formula = {}
    if trial.computed_steps:
        formula = {"step": "; ".join(trial.computed_steps)}
        axes = sorted({_axis_of(each) for each in trial.computed_steps})
        remarks[f"run whose steps are computed from {', '.join(axes)}: the formula is its attribute step"] = 1
    curve, margins = add_margins(trial.curve, mapping.joined, dict(trial.directions))
    stated = {name: _spelled(value) for name, value in fill_known(mapping.parameters, fields).items()}
    parameters = {**log.parameters, **stated}
    numbers = {name: float(value) for name, value in parameters.items() if is_exact_float(value)}
    words = {name: value for name, value in parameters.items() if name not in numbers}
    beside = {**log.attributes, **fill_known(mapping.attributes, fields)}
    logged, differences = logged_facts(log, mapping, study.batch_size, {**fields, **planned}, numbers)
    attributes = {
        **path_fields,
        **formula,
        **trial.computed_values,
        **margins,
        **words,
        **logged,
        **_attributes(schedule),
        **beside,
    }
    unit = _fill(fields, "batch_unit", mapping.run.batch_unit or Template("examples"))
    goals, remarks_on_goals = logged_goals(log, mapping, trial, study.workload, fields)
    remarks.update({**remarks_on_goals, **differences})
    joined = [
        Goal(study.workload, goal.metric, REACHED, goal.source, goal.comparator)
        for goal in mapping.joined
        if goal.metric in margins
    ]
    return PlacedRun(
        run=log.run,
        study=study,
        facts=StudyFacts(study, str(unit), train_steps, False, "{}"),
        trial_id=trial_id,
        status=status,
        parameters=numbers,
        attributes={name: json.dumps(value) for name, value in attributes.items()},
        labels=frozenset({*path_fields, *beside, *logged, "step"} - parameters.keys()),
        curve=curve,
        files=log.files,
        collection=collection_facts(mapping, study, fields),
        goals=(*goals, *joined, *goals_of(mapping, study.workload, fields)),
        directions=frozenset({*trial.directions, *_logged_directions(log, curve), *((name, BEST) for name in margins)}),
        left_out=sorted(set(trial.left_out) - _used_fields(mapping)) if trial.left_out else [],
        remarks={**log.remarks, **remarks},
        steps=log.steps,
        contributors=contributors_of(mapping),
        keeps_repeats=mapping.run.repeats == "keep",
    )


def _logged_directions(log: RunLog, curve: Curves) -> set[tuple[str, Direction]]:
    """Return the directions that a log states for its metrics, except registered ones, which have theirs."""
    measured = ((name, direction) for name, direction in log.directions.items() if name in curve.values)
    return {(name, direction) for name, direction in measured if metric_named(name).direction is None}


def _used_fields(mapping: LogMapping) -> set[str]:
    """Return the names of fields that the mapping uses, so that columns with these names aren't ignored."""
    templates = [*vars(mapping.run).values(), *vars(mapping.schedule).values(), *mapping.parameters.values()]
    named = {name for template in templates if isinstance(template, Template) for name in template.names}
    keys = {key for lookup in mapping.lookup for key in lookup.keys}
    conditions = {name for when in mapping.when for name in when.condition}
    return named | keys | conditions | {*_IDENTITY}


def collection_facts(mapping: LogMapping, study: Study, fields: Fields) -> CollectionMetadata:
    """Return the mapping's metadata for the collection of a study, as far as the fields are known."""
    templates = {name: template for name, template in vars(mapping.collection).items() if template and name != "name"}
    texts = {name: str(text) for name, text in fill_known(templates, fields).items()}
    licence = mapping.collection.licence
    is_of_run = licence is not None and bool(licence.names) and "licence" in texts
    return CollectionMetadata(study.workload.collection, **texts, is_licence_of_run=is_of_run)


def contributors_of(mapping: LogMapping) -> tuple[Contributor, ...]:
    """Return the contributors that a mapping names. Raises Refusal for too many."""
    try:
        return checked_contributors(mapping.contributor)
    except ValueError as error:
        raise Refusal(Rule.BAD_FACT, str(error)) from None


def _fields_in_path(mapping: LogMapping, path: str) -> Fields:
    for pattern in mapping.path.patterns:
        match = pattern.match(path)
        if match is not None:
            mapping.used.add(pattern.label)
            return match
    return {}


def _path_in_repository(mapping: LogMapping, source: str, log: RunLog) -> Fields:
    """Return the path of a run's log, or of the folder with its logs, below the root of its repository, for a URL."""
    names = f"{source}/{next(iter(log.files)) if len(log.files) == 1 else log.run}".split("/")
    for root in mapping.path.roots:
        below = [number for number, name in enumerate(names, start=1) if fits(name, root)]
        if below:  # an archive may have the name of the folder in it
            return {"path_in_repository": quote("/".join(names[below[-1] :]))}
    return {}


def _known_fields(log: RunLog, mapping: LogMapping, in_path: Fields, side: Fields) -> Fields:
    """Return every field but the mapping's defaults and guesses; if several sources give a field, the first one wins.

    The order is: the path, the log, files beside it, lookup tables.
    """
    fields = {**side, **log.fields, **in_path}
    for table in mapping.lookup:
        row = table.rows.get(tuple(str(fields.get(name, "")) for name in table.keys), {})
        fields = {**row, **fields}
    return fields


def _fill(fields: Fields, name: str, template: Template) -> Scalar:
    try:
        return template.fill(fields)
    except UnknownField as unknown:
        raise _missing({name: unknown}) from None


def _attributes(schedule: NamedSchedule | None) -> dict[str, object]:
    """Return the attributes of a trial whose batch size changes."""
    if schedule is None or schedule.batch_size != CHANGES:
        return {}
    return {ATTRIBUTE: schedule.pieces.pieces, NAME_ATTRIBUTE: schedule.name}


def _study(fields: Fields, mapping: LogMapping, schedule: NamedSchedule | None) -> Study:
    """Return the study. Raises Refusal with everything that is missing for it, or as the mapping says."""
    if mapping.refuse:
        raise Refusal(Rule.MISSING_FACT, mapping.refuse)
    templates = {"collection": mapping.collection.name} | vars(mapping.run)
    values: dict[str, Scalar] = {}
    missing: dict[str, UnknownField | None] = {}
    if schedule is not None:
        templates["batch_size"] = Template(schedule.batch_size)
    for name in ("collection", *_IDENTITY):
        template = templates[name] or (Template(f"{{{name}}}") if name in fields else None)
        try:
            if template is None:
                missing[name] = None
            else:
                values[name] = template.fill(fields)
        except UnknownField as unknown:
            missing[name] = unknown
    if missing:
        raise _missing(missing)
    batch_size = values.pop("batch_size")
    whole = natural(batch_size)
    if not whole and schedule is None:
        raise Refusal(Rule.BAD_FACT, f"the batch size is {shown(batch_size)}, not an integer above 0")
    names = {name: str(value) for name, value in values.items()}
    for name, text in names.items():
        for part in text.split("/") if name == "collection" else (text,):
            why = name_problem(part)
            if why:
                raise Refusal(Rule.BAD_NAME, f"the {name} {shown(text)} {why}: choose another in the mapping")
    return Study(Workload(**names), whole or CHANGES)


def _check_facts(
    mapping: LogMapping,
    study: Study,
    train_steps: int,
    fields: Fields,
    in_path: Fields,
    stated: Fields,
    has_schedule: bool,
) -> None:
    """Raise Refusal if the log states something else than the mapping or the path.

    stated: facts of the log and of the files beside it. has_schedule: the batch size is of a stated schedule.
    """
    template = mapping.run.batch_size or Template("{batch_size}")
    unit = fill_if_known(mapping.run.batch_unit or Template("examples"), fields)
    if not has_schedule:
        BatchSize(study.batch_size, template, str(unit or ""), fields, in_path, stated).check()
    check_seed(in_path, stated)
    check_train_steps(mapping.run.train_steps, train_steps, stated)


def _missing(values: Mapping[str, UnknownField | None]) -> Refusal:
    """Return a Refusal for missing values; each may have the unknown field that its template needs."""
    fields = tuple(_missing_field(name, unknown) for name, unknown in values.items())
    *others, last = values
    what = " and ".join(filter(None, [", ".join(others), last]))
    verb = "are" if others else "is"
    add = "; ".join(field.add.partition("   #")[0] for field in fields)
    return Refusal(Rule.MISSING_FACT, f"{what} {verb} unknown: add to the mapping: {add}", missing=fields)


def _missing_field(name: str, unknown: UnknownField | None) -> MissingField:
    if unknown is not None:
        field = unknown.alternatives[0]
        spaces = " (a product has a space on each side of its *)" if "*" in field else ""
        what = f"{name} needs {{{unknown}}}, which is unknown{spaces}"
        return MissingField(what, f'{toml_key(field)} = "…"   # under [fields]')
    section, key = ("collection", "name") if name == "collection" else ("fields", name)
    # [fields] leaves runs alone that know it. [run] would overrule them.
    return MissingField(f"{name} is unknown", f'{key} = "…"   # under [{section}]; by [[when]] where runs differ')


def _whole(fields: Fields, name: str, template: Template | None) -> int | None:
    """Return an integer of the run, None if it is optional and unknown. Raises Refusal."""
    if template is None or (name == "train_steps" and fill_if_known(template, fields) is None):
        return None
    value = _fill(fields, name, template)
    whole = natural(value)
    if whole is None:
        raise Refusal(Rule.BAD_FACT, f"the {name} is {shown(value)}, not an integer from 0 to 2^63 - 1")
    return whole


def _axis_of(formula: str) -> str:
    """Return the axis in a formula of steps: (epoch_num + 1) with its offset, nth of ceil((nth x 500 + 100) / 8)."""
    axis = re.split(" [x/] ", formula.removeprefix("ceil("))[0]
    return axis if axis.count("(") == axis.count(")") else axis.lstrip("(")


def _spelled(value: Scalar) -> Scalar:
    """Return the number that a text spells, as a cell of a lookup table or a part of a path does; else the value."""
    return float(value) if isinstance(value, str) and _SPELLED.fullmatch(value) else value


def _status(log: RunLog, mapping: LogMapping, fields: Fields) -> tuple[str, dict[str, int]]:
    """Return the run's status, by the mapping or else the log, and remarks. Raises Refusal.

    A damaged run isn't COMPLETE, unless the mapping itself says so.
    """
    template = mapping.run.status
    is_damaged = any(isinstance(remark, Damage) for remark in log.remarks) and (template is None or template.names)
    stated = fill_if_known(template, fields)
    word = log.status if stated in (None, "") else str(stated)
    if word is None:
        return (INCOMPLETE, {}) if is_damaged else (COMPLETE, {STATUS_ASSUMED: 1})
    status = mapping.status.get(word, word)
    if status not in STORED_STATUSES:
        add = f'{toml_string(word)} = "COMPLETE"   # or INCOMPLETE or INFEASIBLE, under [status]'
        statuses = ", ".join(STORED_STATUSES)
        message = f"the run ended with {shown(word)}, which is not one of {statuses}"
        raise mapping_lacks(Rule.UNKNOWN_STATUS, message, add, what=f"the status {shown(word)} is unknown")
    return INCOMPLETE if is_damaged and status == COMPLETE else status, {}
