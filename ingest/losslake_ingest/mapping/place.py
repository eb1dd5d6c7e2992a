"""Placing a run: its study, trial, curve, goals and collection, from what the log and the mapping say."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from losslake_ingest.mapping.evaluations import curve_of
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.mapping.metrics import checked_metric
from losslake_ingest.mapping.template import Template, UnknownField
from losslake_ingest.rules import MissingField, Refusal, Rule, shown
from losslake_ingest.run_log import RunLog, Scalar
from losslake_ingest.study import LARGEST_EXACT_INTEGER, Curves, StudyFacts, is_exact_float
from losslake_schema.names import Study, Workload, natural_number, why_bad_name
from losslake_schema.registry import CollectionFacts, Goal
from losslake_schema.tables import STATUSES

STATUS_ASSUMED = "run whose log doesn't say how it ended: taken as COMPLETE"
Fields = Mapping[str, Scalar]


@dataclass(frozen=True)
class PlacedRun:
    """A run with its place in the database. trial_id is None where the ingest is to number it."""

    run: str
    study: Study
    facts: StudyFacts
    trial_id: int | None
    status: str
    parameters: Mapping[str, float]
    attributes: Mapping[str, str]
    curve: Curves
    files: Mapping[str, str]
    collection: CollectionFacts
    goals: tuple[Goal, ...]
    left_out: Sequence[str]
    remarks: Mapping[str, int]

    @property
    def sha256(self) -> str:
        """Of its file; of all of them, by path, where it has several."""
        if len(self.files) == 1:
            return next(iter(self.files.values()))
        return hashlib.sha256("".join(self.files[path] for path in sorted(self.files)).encode()).hexdigest()


def place(log: RunLog, mapping: LogMapping, source: str, side: Fields) -> PlacedRun:
    """Return the run in its place; raises Refusal with every missing field at once, or with the rule that it breaks.

    source: the path of the source, under which the run's own path goes on. side: what files beside the log say.
    """
    fields = _fields_of(log, mapping, source, side)
    study = _study(fields, mapping)
    fields.update(study.key())
    trial_id = _whole(fields, "trial_id", mapping.run.trial_id)
    trial = curve_of(log, mapping, study.batch_size, fields)
    status, remarks = _status(log, mapping, fields)
    remarks.update(trial.remarks)
    in_paths = {name for pattern in mapping.path.patterns for name in pattern.kinds}
    kept = {name: fields[name] for name in sorted(in_paths) if name in fields and name not in log.parameters}
    attributes = {name: json.dumps(value) for name, value in kept.items()}
    if trial.computed_steps:
        attributes["step"] = json.dumps("; ".join(trial.computed_steps))
        axes = sorted({formula.partition(" ")[0] for formula in trial.computed_steps})
        remarks[f"run whose steps are computed from {', '.join(axes)}: the formula is its attribute step"] = 1
    parameters = {**log.parameters, **_known(fields, mapping.parameters)}
    numbers = {name: float(value) for name, value in parameters.items() if is_exact_float(value)}
    attributes |= {name: json.dumps(value) for name, value in parameters.items() if name not in numbers}
    unit = _filled(fields, "batch_unit", mapping.run.batch_unit or Template("examples"))
    train_steps = _whole(fields, "train_steps", mapping.run.train_steps) or 0
    logged = [
        Goal(study.workload, trial.columns[goal.column], goal.target, goal.source)
        for goal in log.goals
        if goal.column in trial.columns
    ]
    return PlacedRun(
        run=log.run,
        study=study,
        facts=StudyFacts(study, str(unit), train_steps, False, "{}"),
        trial_id=trial_id,
        status=status,
        parameters=numbers,
        attributes=attributes,
        curve=trial.curve,
        files=log.files,
        collection=collection_facts(mapping, study, fields),
        goals=(*logged, *goals_of(mapping, study.workload, fields)),
        left_out=trial.left_out,
        remarks={**log.remarks, **remarks},
    )


def collection_facts(mapping: LogMapping, study: Study, fields: Fields) -> CollectionFacts:
    """Return what a mapping says of the collection of a study, as far as the fields are known."""
    templates = {name: template for name, template in vars(mapping.collection).items() if template and name != "name"}
    known = {name: str(text) for name, text in _known(fields, templates).items()}
    return CollectionFacts(study.workload.collection, **known)


def goals_of(mapping: LogMapping, workload: Workload, fields: Fields) -> list[Goal]:
    """Return the goals of a mapping of which every field is known."""
    goals = []
    for goal in mapping.goal:
        known = _known(fields, vars(goal))
        if len(known) == 3:
            metric = checked_metric(str(known["metric"]))
            goals.append(Goal(workload, metric, _target(known["target"]), str(known["source"])))
    return goals


def _target(value: Scalar) -> float:
    try:
        target = float(value)
    except ValueError:
        target = math.nan
    if not math.isfinite(target):
        raise Refusal(Rule.BAD_FACT, f"the goal's target is {shown(value)}, not a finite number")
    return target


def _fields_of(log: RunLog, mapping: LogMapping, source: str, side: Fields) -> dict[str, Scalar]:
    """Every field that a template may take; the first to say a field wins.

    In this order: the path, the log, files beside it, lookup tables, the mapping.
    """
    path = f"{source}/{log.run}"
    matches = (pattern.match(path) for pattern in mapping.path.patterns)
    in_path: Fields = next((match for match in matches if match is not None), {})
    fields = {**side, **log.fields, **in_path}
    for table in mapping.lookup:
        row = table.rows.get(tuple(str(fields.get(name, "")) for name in table.keys), {})
        fields = {**row, **fields}
    return {**mapping.fields, **fields}


def _known(fields: Fields, templates: Mapping[str, Template]) -> dict[str, Scalar]:
    """Those templates filled in of which every field is known."""
    known = {}
    for name, template in templates.items():
        try:
            known[name] = template.fill(fields)
        except UnknownField:
            continue
    return known


def _filled(fields: Fields, name: str, template: Template) -> Scalar:
    try:
        return template.fill(fields)
    except UnknownField as unknown:
        raise _missing([(name, unknown)]) from None


def _study(fields: Fields, mapping: LogMapping) -> Study:
    """The study; raises Refusal with everything that is missing for it."""
    said = {"collection": mapping.collection.name} | vars(mapping.run)
    values: dict[str, Scalar] = {}
    missing: list[tuple[str, UnknownField | None]] = []
    for name in ("collection", "dataset", "model", "optimizer", "batch_size"):
        template = said[name] or (Template(f"{{{name}}}") if name in fields else None)
        try:
            if template is None:
                missing.append((name, None))
            else:
                values[name] = template.fill(fields)
        except UnknownField as unknown:
            missing.append((name, unknown))
    if missing:
        raise _missing(missing)
    batch_size = values.pop("batch_size")
    whole = _natural(batch_size)
    if not whole:
        raise Refusal(Rule.BAD_FACT, f"the batch size is {shown(batch_size)}, not an integer above 0")
    names = {name: str(value) for name, value in values.items()}
    for name, text in names.items():
        for part in text.split("/") if name == "collection" else (text,):
            why = why_bad_name(part)
            if why:
                raise Refusal(Rule.BAD_NAME, f"the {name} {shown(text)} {why}: choose another in the mapping")
    return Study(Workload(**names), whole)


def _missing(names: Sequence[tuple[str, UnknownField | None]]) -> Refusal:
    """The refusal of a run for what it lacks, and for each the field that its template takes, if it has one."""
    fields = tuple(_missing_field(name, unknown) for name, unknown in names)
    what = " and ".join(filter(None, [", ".join(name for name, _ in names[:-1]), names[-1][0]]))
    verb = "is" if len(names) == 1 else "are"
    add = "; ".join(field.add.partition("   #")[0] for field in fields)
    return Refusal(Rule.MISSING_FACT, f"{what} {verb} not known: add to the mapping: {add}", missing=fields)


def _missing_field(name: str, unknown: UnknownField | None) -> MissingField:
    if unknown is not None:
        field = unknown.alternatives[0]
        return MissingField(f"{name} takes {{{unknown}}}, which nothing says", f'{field} = "…"   # under [fields]')
    section, key = ("collection", "name") if name == "collection" else ("run", name)
    example = "64" if name == "batch_size" else '"…"'
    return MissingField(f"{name} is not known", f'{key} = {example}   # under [{section}]: a constant or "{{field}}"')


def _whole(fields: Fields, name: str, template: Template | None) -> int | None:
    """A number of the run, None where nothing says it; raises Refusal."""
    if template is None or (name == "train_steps" and not _known(fields, {name: template})):
        return None
    value = _filled(fields, name, template)
    whole = _natural(value)
    if whole is None:
        raise Refusal(Rule.BAD_FACT, f"the {name} is {shown(value)}, not an integer from 0 to 2^63 - 1")
    return whole


def _natural(value: Scalar) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() and 0 <= value < LARGEST_EXACT_INTEGER else None
    return natural_number(str(value))


def _status(log: RunLog, mapping: LogMapping, fields: Fields) -> tuple[str, dict[str, int]]:
    """How the run ended, by the mapping or else the log, and what had to be decided; raises Refusal."""
    template = mapping.run.status
    said = str(_known(fields, {"": template}).get("", "")) if template is not None else ""
    word = said or log.status
    if word is None:
        return "COMPLETE", {STATUS_ASSUMED: 1}
    status = mapping.status.get(word, word)
    if status not in STATUSES:
        add = f'"{word}" = "COMPLETE"   # or INCOMPLETE or INFEASIBLE, under [status]'
        message = f"the run ended with {shown(word)}, which is none of {', '.join(STATUSES)}: add to the mapping: {add}"
        missing = MissingField(f"the status {shown(word)} is not known", add)
        raise Refusal(Rule.UNKNOWN_STATUS, message, missing=(missing,))
    return status, {}
