"""Placing a run: its study, trial, curve, goals and collection, from what the log and the mapping say.

The fields of a run: what its path, its log, files beside it, lookup tables and the mapping say, in that order.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from losslake_ingest.mapping.evaluations import curve_of
from losslake_ingest.mapping.mapping import Lack, LogMapping, Refusal
from losslake_ingest.mapping.metrics import checked_metric
from losslake_ingest.mapping.template import PathPattern, Template, UnknownField
from losslake_ingest.report import shown
from losslake_ingest.rules import Rule
from losslake_ingest.run_log import RunLog, Scalar
from losslake_ingest.study import LARGEST_EXACT_INTEGER, Curves, StudyFacts, is_exact_float
from losslake_schema.names import Study, Workload, natural_number, why_bad_name
from losslake_schema.registry import CollectionFacts, Goal
from losslake_schema.tables import STATUSES


def fields_of(log: RunLog, mapping: LogMapping, source: str, side: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Every field that a template may take; the first to say a field wins.

    source: the path of the source, under which the run's own path goes on. side: what files beside the log say.
    """
    fields: dict[str, Scalar] = {}
    for layer in (_from_path(mapping.path_patterns, f"{source}/{log.run}"), log.fields, side):
        fields = {**layer, **fields}
    for table in mapping.lookups:
        row = table.rows.get(tuple(_key_text(fields.get(name)) for name in table.keys), {})
        fields = {**row, **fields}
    return {**mapping.fields, **fields}


def _from_path(patterns: Sequence[PathPattern], path: str) -> Mapping[str, Scalar]:
    matches = (pattern.match(path) for pattern in patterns)
    return next((found for found in matches if found is not None), {})


def _key_text(value: Scalar | None) -> str:
    return "" if value is None else str(value)


STATUS_ASSUMED = "run whose log doesn't say how it ended: taken as COMPLETE"


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


def place(log: RunLog, mapping: LogMapping, source: str, side: Mapping[str, Scalar]) -> PlacedRun:
    """The place of a run. Raises Refusal with everything that is lacking at once, or with the rule that it breaks."""
    facts = _Facts(fields_of(log, mapping, source, side))
    study = _study(facts, mapping)
    facts.fields.update(study.key())
    trial_id = _whole(facts, "trial_id", mapping.run.trial_id)
    found = curve_of(log, mapping, study.batch_size, facts.fields)
    status, remarks = _status(log, mapping, facts)
    remarks.update(found.remarks)
    attributes = {name: json.dumps(value) for name, value in _attributes(log, mapping, facts).items()}
    if found.computed_steps:
        attributes["step"] = json.dumps("; ".join(found.computed_steps))
        axes = sorted({formula.partition(" ")[0] for formula in found.computed_steps})
        remarks[f"run whose steps are computed from {', '.join(axes)}: the formula is its attribute step"] = 1
    parameters = {**log.parameters, **facts.known(mapping.parameters)}
    numbers = {name: float(value) for name, value in parameters.items() if is_exact_float(value)}
    attributes |= {name: json.dumps(value) for name, value in parameters.items() if name not in numbers}
    unit = facts.text("batch_unit", mapping.run.batch_unit, "examples")
    train_steps = _whole(facts, "train_steps", mapping.run.train_steps) or 0
    return PlacedRun(
        run=log.run,
        study=study,
        facts=StudyFacts(study, unit, train_steps, False, "{}"),
        trial_id=trial_id,
        status=status,
        parameters=numbers,
        attributes=attributes,
        curve=found.curve,
        files=log.files,
        collection=_collection(mapping, facts, study),
        goals=tuple(_goals(log, mapping, facts, study.workload, found.columns)),
        left_out=found.left_out,
        remarks={**log.remarks, **remarks},
    )


def collection_facts(mapping: LogMapping, study: Study) -> CollectionFacts:
    """What a mapping says of the collection of a study."""
    return _collection(mapping, _Facts({**study.key()}), study)


def goals_of_study(mapping: LogMapping, study: Study) -> list[Goal]:
    """The goals that a mapping names for a study, whatever its runs say."""
    return _said_goals(mapping, _Facts({**study.key()}), study.workload)


class _Facts:
    """The fields of a run, and what templates make of them."""

    def __init__(self, fields: dict[str, Scalar]) -> None:
        self.fields = fields

    def text(self, name: str, template: Template | None, default: str) -> str:
        if template is None:
            return default
        try:
            return str(template.fill(self.fields))
        except UnknownField as unknown:
            raise _lacking(((name, unknown),)) from None

    def known(self, templates: Mapping[str, Template]) -> dict[str, Scalar]:
        """Those templates of which every field is known."""
        found = {}
        for name, template in templates.items():
            try:
                found[name] = template.fill(self.fields)
            except UnknownField:
                continue
        return found

    def known_text(self, template: Template | None) -> str:
        found = self.known({"": template}) if template is not None else {}
        return str(found.get("", ""))


def _study(facts: _Facts, mapping: LogMapping) -> Study:
    """The study; raises Refusal with all that it lacks."""
    wanted = {
        "collection": mapping.collection.name,
        "dataset": mapping.run.dataset,
        "model": mapping.run.model,
        "optimizer": mapping.run.optimizer,
        "batch_size": mapping.run.batch_size,
    }
    names: dict[str, Scalar] = {}
    lacking: list[tuple[str, UnknownField | None]] = []
    for name, template in wanted.items():
        given = template or (Template(f"{{{name}}}") if name in facts.fields else None)
        try:
            if given is None:
                lacking.append((name, None))
            else:
                names[name] = given.fill(facts.fields)
        except UnknownField as unknown:
            lacking.append((name, unknown))
    if lacking:
        raise _lacking(lacking)
    batch_size = names.pop("batch_size")
    whole = _natural(batch_size)
    if not whole:
        raise Refusal(Rule.BAD_FACT, f"the batch size is {shown(batch_size)}, not an integer above 0")
    for name, text in names.items():
        for part in str(text).split("/") if name == "collection" else (str(text),):
            why = why_bad_name(part)
            if why:
                raise Refusal(Rule.BAD_NAME, f"the {name} {shown(text)} {why}: choose another in the mapping")
    return Study(Workload(*(str(names[key]) for key in ("collection", "dataset", "model", "optimizer"))), whole)


def _lacking(lacking: list[tuple[str, UnknownField | None]] | tuple[tuple[str, UnknownField | None], ...]) -> Refusal:
    lacks = tuple(_lack(name, unknown) for name, unknown in lacking)
    what = " and ".join(filter(None, [", ".join(name for name, _ in lacking[:-1]), lacking[-1][0]]))
    verb = "is" if len(lacking) == 1 else "are"
    add = "; ".join(lack.add.partition("   #")[0] for lack in lacks)
    return Refusal(Rule.MISSING_FACT, f"{what} {verb} not known: add to the mapping: {add}", lacks)


def _lack(name: str, unknown: UnknownField | None) -> Lack:
    if unknown is not None:
        field = unknown.alternatives[0]
        return Lack(f"{name} takes {{{unknown}}}, which nothing says", f'{field} = "…"   # under [fields]')
    section, key = ("collection", "name") if name == "collection" else ("run", name)
    example = "64" if name == "batch_size" else '"…"'
    return Lack(f"{name} is not known", f'{key} = {example}   # under [{section}]: a constant or "{{field}}"')


def _whole(facts: _Facts, name: str, template: Template | None) -> int | None:
    if template is None:
        return None
    try:
        value = template.fill(facts.fields)
    except UnknownField as unknown:
        if name == "train_steps":
            return None
        raise _lacking(((name, unknown),)) from None
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


def _status(log: RunLog, mapping: LogMapping, facts: _Facts) -> tuple[str, dict[str, int]]:
    said: str | None = log.status
    if mapping.run.status is not None:
        said = facts.known_text(mapping.run.status) or said
    if said is None:
        return "COMPLETE", {STATUS_ASSUMED: 1}
    status = mapping.statuses.get(said, said)
    if status not in STATUSES:
        add = f'"{said}" = "COMPLETE"   # or INCOMPLETE or INFEASIBLE, under [status]'
        message = f"the run ended with {shown(said)}, which is none of {', '.join(STATUSES)}: add to the mapping: {add}"
        raise Refusal(Rule.UNKNOWN_STATUS, message, (Lack(f"the status {shown(said)} is not known", add),))
    return status, {}


def _attributes(log: RunLog, mapping: LogMapping, facts: _Facts) -> dict[str, Scalar]:
    """What the path and the mapping say of the run beside its study: kept with the trial."""
    used = {name for pattern in mapping.path_patterns for name in pattern.kinds}
    return {name: facts.fields[name] for name in sorted(used) if name in facts.fields and name not in log.parameters}


def _collection(mapping: LogMapping, facts: _Facts, study: Study) -> CollectionFacts:
    said = mapping.collection
    templates = {"title": said.title, "licence": said.licence, "citation": said.citation, "source_url": said.source_url}
    return CollectionFacts(study.workload.collection, *(facts.known_text(template) for template in templates.values()))


def _goals(
    log: RunLog, mapping: LogMapping, facts: _Facts, workload: Workload, columns: Mapping[str, str]
) -> list[Goal]:
    """The goals that the log names for its columns, and those of the mapping for which every field is known."""
    logged = [
        Goal(workload, columns[goal.column], goal.target, goal.source) for goal in log.goals if goal.column in columns
    ]
    return [*logged, *_said_goals(mapping, facts, workload)]


def _said_goals(mapping: LogMapping, facts: _Facts, workload: Workload) -> list[Goal]:
    found = []
    for goal in mapping.goals:
        said = facts.known({"metric": goal.metric, "target": goal.target, "source": goal.source})
        if len(said) == 3:
            metric = checked_metric(str(said["metric"]))
            found.append(Goal(workload, metric, _target(said["target"]), str(said["source"])))
    return found


def _target(value: Scalar) -> float:
    try:
        target = float(value)
    except ValueError:
        target = math.nan
    if not math.isfinite(target):
        raise Refusal(Rule.BAD_FACT, f"the goal's target is {shown(value)}, not a finite number")
    return target
