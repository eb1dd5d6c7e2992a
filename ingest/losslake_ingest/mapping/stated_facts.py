"""Facts that a log states beside its measurements, checked against those of the mapping and of the path.

The batch size is that of an update of the parameters. A log may state that of one process, beside the number of
processes and of the batches whose gradients are added up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from losslake_ingest.contracts.rules import MissingField, Refusal, Rule, mapping_lacks
from losslake_ingest.contracts.run_log import Fields, LoggedRows, RunLog, Scalar
from losslake_ingest.contracts.study import LARGEST_EXACT_INTEGER
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.mapping.template import Template
from losslake_ingest.mapping.toml import names_of, toml_string
from losslake_schema.names import natural_number

_FACTS = names_of("facts")
OF_RUN, OF_PROCESS, EITHER = _FACTS["of_run"], _FACTS["of_process"], _FACTS["of_run_or_process"]
ACCUMULATION, PROCESSES = _FACTS["accumulation"], _FACTS["processes"]
DEVICES, NODES = _FACTS["devices"], _FACTS["nodes"]
ALL_STEPS, ALL_EPOCHS = _FACTS["steps"], _FACTS["epochs"]
UNITS_OF_ROWS = ("examples", "samples", "sequences", "images")

_NAMES = frozenset(chain.from_iterable(_FACTS.values()))
_OF_EVALUATION = re.compile("val|valid|validation|eval|evaluation|test|dev")
_SPECIAL = re.compile(r"[{}|*]|\s/\s")  # in templates
_MOST_STATED = 12


def facts_among(fields: Fields) -> Fields:
    """Return the fields that state a fact of training, and that a template can name."""
    return {field: value for field, value in fields.items() if last_name(field) in _NAMES and is_of_training(field)}


def stated_numbers(facts: Fields, names: Sequence[str], least: int = 1) -> dict[str, int]:
    """Return the first integers that some facts state under some names, in the order of these names."""
    by_name: dict[str, list[tuple[str, int]]] = {}
    for field, value in facts.items():
        name, number = last_name(field), natural(value)
        if name in names and number is not None and number >= least:
            by_name.setdefault(name, []).append((field, number))
    return dict([pair for name in names for pair in by_name.get(name, ())][:_MOST_STATED])


def last_name(field: str) -> str:
    """Return the last part of a field's name, in lower case and with underscores."""
    return field.rpartition(".")[2].rpartition("/")[2].lower().replace("-", "_")


def natural(value: Scalar) -> int | None:
    """Return the integer from 0 on that a field states; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() and 0 <= value < LARGEST_EXACT_INTEGER else None
    return natural_number(str(value))


def is_of_training(field: str) -> bool:
    """Return True unless a field or column is of an evaluation by its name, or can't be named in a template."""
    return not _SPECIAL.search(field) and not any(map(_OF_EVALUATION.fullmatch, re.split("[./]", field.lower())))


def multipliers(facts: Fields) -> dict[str, int]:
    """Return the facts that make the batch size of an update from that of one process, each of another kind."""
    kinds = [stated_numbers(facts, names) for names in (ACCUMULATION, PROCESSES, DEVICES, NODES)]
    accumulation, processes, *of_nodes = [_first_above_1(numbers) for numbers in kinds]
    is_of_run = max(processes.values(), default=0) > 1 or not any(of_nodes)
    return {
        field: number
        for kind in (accumulation, *([processes] if is_of_run else of_nodes))
        for field, number in kind.items()
    }


def _first_above_1(numbers: Mapping[str, int]) -> dict[str, int]:
    """Return the first fact above 1, or else the first; nothing of none."""
    return dict(sorted(numbers.items(), key=lambda pair: pair[1] <= 1)[:1])


@dataclass(frozen=True)
class BatchSize:
    """The batch size of a study, and where it is from.

    template: of the mapping. unit: of the batch. fields: all of the run. in_path: those of its path. stated: facts of
    the log and of the files beside it.
    """

    value: int
    template: Template
    unit: str
    fields: Fields
    in_path: Fields
    stated: Fields

    def check(self) -> None:
        """Raise Refusal if it isn't what the log states, or may be that of one process.

        A product, or a field with another name, is what the author has thought of.
        """
        field = self.template.field(self.fields)
        if field is None and self.template.names:
            return
        if field is not None and last_name(field) not in (*OF_PROCESS, *EITHER):
            return
        is_in_path = field is not None and field in self.in_path
        is_logged = self.value in self._of_process.values() if is_in_path else field in self.stated
        if field is not None and is_logged:
            self._check_field(field)
        else:
            self._check_stated_elsewhere(field, "the path" if is_in_path else "the mapping")

    @cached_property
    def _of_run(self) -> Mapping[str, int]:
        """The stated batch sizes of the run: those in tokens only if the mapping's is, too."""
        stated = stated_numbers(self.stated, OF_RUN)
        return {
            name: number for name, number in stated.items() if self._is_other_unit or "tokens" not in last_name(name)
        }

    @cached_property
    def _of_process(self) -> Mapping[str, int]:
        """The stated batch sizes that may be of one process."""
        return stated_numbers(self.stated, (*EITHER, *OF_PROCESS))

    @property
    def _is_other_unit(self) -> bool:
        return self.unit not in UNITS_OF_ROWS

    def _check_field(self, field: str) -> None:
        """Raise Refusal if the log states another batch size of the run, or more than one process or step of it."""
        factors = {name: number for name, number in multipliers(self.stated).items() if number > 1}
        if self.value in self._of_run.values() or not (self._of_run or factors):
            return
        ours, of_run = f"{field} = {self.value}", _line(f"{field} * 1")
        for other, number in self._of_run.items():
            what = f"the log states {ours}, which would be the batch size, and {other} = {number}"
            raise mapping_lacks(Rule.FACTS_DISAGREE, what, _line(other, f"or {of_run} if that is of the run"))
        beside = " and ".join(f"{name} = {number}" for name, number in factors.items())
        what = f"the batch size is unknown: the log states {ours} beside {beside}, so it may be that of one process"
        product = " * ".join((field, *factors))
        raise mapping_lacks(Rule.MISSING_FACT, what, _line(product, f"or {of_run} if it is of an update"))

    def _check_stated_elsewhere(self, field: str | None, says: str) -> None:
        """Raise Refusal if the log states another batch size than a constant, the path or a table."""
        sizes = {**self._of_run, **self._of_process}
        if not sizes or self.value in sizes.values() or self._is_explained():
            return
        name, number = next(iter(sizes.items()))
        what = f"the log states {name} = {number}, and {says} a batch size of {self.value}"
        if field == name:
            pattern = f"with {{path_{field}:int}} for {{{field}:int}} in patterns under [path]"
            comment = f"{pattern}; or {_line(name)} for that of the log"
            raise mapping_lacks(Rule.FACTS_DISAGREE, what, _line(f"path_{field}", comment))
        times, rest = divmod(self.value, number)
        product = f"{name} * {times}" if times > 1 and not rest and name not in self._of_run else name
        comment = f"if the log's isn't of this run, \"{{true_size}}\" with true_size = {self.value} under [fields]"
        raise mapping_lacks(Rule.FACTS_DISAGREE, what, _line(product, comment))

    def _is_explained(self) -> bool:
        """Return True if the batch size is a stated one times some of the stated factors, or any if these are unknown.

        Nothing states how many processes there were, or how many tokens an example has.
        """
        products = {1}
        for number in stated_numbers(self.stated, (*ACCUMULATION, *PROCESSES, *DEVICES, *NODES)).values():
            products |= {number * product for product in products if number * product <= self.value}
        if any(self.value == size * product for size in self._of_process.values() for product in products):
            return True
        parts = {**self._of_run, **self._of_process} if self._is_other_unit else stated_numbers(self.stated, OF_PROCESS)
        return any(self.value % size == 0 for size in parts.values())


def _line(template: str, comment: str = "") -> str:
    line = f"batch_size = {toml_string(f'{{{template}}}')}"
    return f"{line}   # under [run]; {comment}" if comment else line


def check_seed(in_path: Fields, stated: Fields) -> None:
    """Raise Refusal if the path and the log state two seeds."""
    ours = natural(in_path.get("seed", ""))
    others = stated_numbers(stated, _FACTS["seeds"], 0)
    if ours is None or not others or ours in others.values():
        return
    name, number = next(iter(others.items()))
    what = f"the log states {name} = {number}, and the path seed = {ours}"
    add = "{repetition:int} for {seed:int}   # in patterns under [path], if it only numbers the runs"
    raise Refusal(Rule.FACTS_DISAGREE, f"{what}: write {add}", missing=(MissingField(what, add),))


def check_train_steps(template: Template | None, train_steps: int, stated: Fields) -> None:
    """Raise Refusal if the log states another number of steps than a constant of the mapping."""
    others = stated_numbers(stated, ALL_STEPS)
    if template is None or template.names or not others or train_steps in others.values():
        return
    name, number = next(iter(others.items()))
    what = f"the log states {name} = {number}, and the mapping train_steps = {train_steps}"
    comment = f"if the log's isn't that, \"{{true_steps}}\" with true_steps = {train_steps} under [fields]"
    add = f"train_steps = {toml_string(f'{{{name}}}')}   # under [run]; {comment}"
    raise mapping_lacks(Rule.FACTS_DISAGREE, what, add)


def check_epochs(log: RunLog, mapping: LogMapping, computed_steps: Sequence[str], stated: Fields) -> None:
    """Raise Refusal if epochs that steps are computed from go beyond twice the number that the log states.

    Fewer are no conflict: runs are resumed for more epochs, and cool down after the last one. A mapping that states the
    steps of the run is believed.
    """
    others = stated_numbers(stated, ALL_EPOCHS)
    if mapping.run.train_steps is not None or not others:
        return
    name, number = max(others.items(), key=lambda pair: pair[1])
    for axis in mapping.axis:
        is_used = any(formula.lstrip("(").startswith(f"{axis.column} ") for formula in computed_steps)
        last = _last(log.rows, axis.column) if is_used and axis.counts == "epochs" and axis.scale is None else 0.0
        if last > 2 * number + 1:
            what = f"the log states {name} = {number}, and {axis.column} goes up to {last:g}: it may not count epochs"
            comment = 'or "examples"; if it counts epochs, give train_steps under [run]'
            add = f'[[axis]]\ncolumn = {toml_string(axis.column)}\ncounts = "steps"   # {comment}'
            raise mapping_lacks(Rule.FACTS_DISAGREE, what, add)


def _last(rows: Sequence[LoggedRows], column: str) -> float:
    stated = (each.columns[column][each.known(column)] for each in rows if column in each.columns)
    return max((float(np.nanmax(positions, initial=0.0)) for positions in stated), default=0.0)
