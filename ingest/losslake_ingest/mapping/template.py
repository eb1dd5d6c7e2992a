"""Templates with fields, and patterns that extract fields from a run's path.

A template is `mlperf-{round}`, `{opt_name}`, `{samples|train_samples}` for the first known field, or
`{micro_batch * devices}` for a product or quotient. A pattern is
`{optimizer}/b{batch_size:int}/seed{trial_id:int}/*.csv`, matched at the end of the path.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from losslake_ingest.contracts.rules import Refusal, Rule, shown
from losslake_ingest.contracts.run_log import Fields, Scalar

_FIELD = re.compile(r"\{([^{}]*)\}")
_FACTOR = re.compile(r"\s+([*/])\s+")
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?([eE][-+]?[0-9]{1,2})?")


class UnknownField(Exception):
    """A template needs an unknown field. alternatives: the field names that it accepts."""

    def __init__(self, alternatives: Sequence[str]) -> None:
        super().__init__(" or ".join(alternatives))
        self.alternatives = alternatives


@dataclass(frozen=True)
class Template:
    """A constant, or text in which `{field}` stands for a field of the run.

    A template that is a single field keeps the field's type.
    """

    text: Scalar

    def fill(self, fields: Fields) -> Scalar:
        """Fill in every field. Raises UnknownField."""
        if not isinstance(self.text, str):
            return self.text
        if whole := _FIELD.fullmatch(self.text):
            return _first_known(whole[1], fields)
        return _FIELD.sub(lambda match: str(_first_known(match[1], fields)), self.text)

    def field(self, fields: Fields) -> str | None:
        """Return the field whose value it is; None for a constant, a calculated number, or a text around fields."""
        whole = _FIELD.fullmatch(self.text) if isinstance(self.text, str) else None
        for name in _split(whole[1]) if whole is not None else ():
            if name in fields:
                return name
            if not _unknown_in(name, fields):
                return None
        return None

    @property
    def names(self) -> list[str]:
        """The names of the fields, in order."""
        if not isinstance(self.text, str):
            return []
        return [name for match in _FIELD.finditer(self.text) for name in _split(match[1])]


def fill_known(templates: Mapping[str, Template], fields: Fields) -> dict[str, Scalar]:
    """Fill in the templates whose fields are all known."""
    filled = ((name, fill_if_known(template, fields)) for name, template in templates.items())
    return {name: value for name, value in filled if value is not None}


def fill_if_known(template: Template | None, fields: Fields) -> Scalar | None:
    """Fill in a template; return None if there is none, or a field of it is unknown."""
    try:
        return template.fill(fields) if template is not None else None
    except UnknownField:
        return None


def finite_number(value: Scalar) -> float | None:
    """Return the finite number that a value is or spells; None for any other."""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split("|")]


def _first_known(names: str, fields: Fields) -> Scalar:
    alternatives = _split(names)
    for name in alternatives:
        if name in fields:
            return fields[name]
        factors = _FACTOR.split(name)
        if len(factors) > 1 and not _unknown_in(name, fields):
            return _product(name, [fields.get(factor, factor) for factor in factors[::2]], factors[1::2])
    raise UnknownField([next(iter(_unknown_in(name, fields)), name) for name in alternatives])


def _unknown_in(product: str, fields: Fields) -> list[str]:
    return [factor for factor in _FACTOR.split(product)[::2] if factor not in fields and not _NUMBER.fullmatch(factor)]


def _product(text: str, values: Sequence[Scalar], operators: Sequence[str]) -> Scalar:
    """Calculate from left to right, exactly; an integer if the result is one. Raises Refusal."""
    try:
        numbers = [Fraction(value if type(value) is int else float(str(value))) for value in values]
        result = numbers[0]
        for operator, number in zip(operators, numbers[1:], strict=True):
            result = result * number if operator == "*" else result / number
        return int(result) if result.denominator == 1 else float(result)
    except (ValueError, ArithmeticError):
        shown_values = ", ".join(shown(value) for value in values)
        raise Refusal(
            Rule.BAD_FACT, f"{{{text}}} can't be calculated from {shown_values}: correct the mapping"
        ) from None


ANY_NAMES = "**"
MOST_WILD = 3
MOST_NAMES = 64
LONGEST_NAME = 255
_PART = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)(?::([a-z]+))?\}|(\*)|([^{}*]+)|(.)")
_KINDS: Mapping[str, tuple[str, Callable[[str], Scalar]]] = {
    "text": (".+?", str),
    "int": ("[0-9]+", int),
    "float": ("[-+0-9.eE]+", float),
}


@dataclass(frozen=True)
class PathPattern:
    """A path pattern: `{name}` matches text within one folder or file name, `{name:int}` and `{name:float}` a number.

    `*` matches anything within a name, `**` any names. A pattern has to match whole names at the end of the path.
    """

    text: str
    names: Sequence[re.Pattern[str] | None]
    kinds: Mapping[str, str]

    @staticmethod
    def parse(text: str) -> PathPattern:
        """Parse a pattern. Raises ValueError with a one-line message."""
        kinds: dict[str, str] = {}
        names = [None if name == ANY_NAMES else _name(name, text, kinds) for name in text.split("/")]
        if names.count(None) > MOST_WILD:
            raise ValueError(f"pattern {text!r}: it can contain at most {MOST_WILD} {ANY_NAMES}")
        return PathPattern(text, names, kinds)

    @property
    def label(self) -> str:
        """Its name in remarks."""
        return f"[path] pattern {self.text!r}"

    def match(self, path: str) -> dict[str, Scalar] | None:
        """Return the fields of a path; None if the path doesn't match."""
        names = path.split("/")[-MOST_NAMES:]
        if any(len(name) > LONGEST_NAME for name in names):
            return None
        texts = _match_backwards(self.names, names)
        if texts is None:
            return None
        try:
            return {name: _KINDS[self.kinds[name]][1](text) for name, text in texts.items()}
        except ValueError:
            return None


def _match_backwards(patterns: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> dict[str, str] | None:
    """Match names from the last one backwards; return the texts of the fields. Leading names are free."""
    if not patterns:
        return {}
    *others, last = patterns
    if last is None:
        rests = (_match_backwards(others, names[:stop]) for stop in range(len(names), -1, -1))
        return next((rest for rest in rests if rest is not None), None)
    fit = last.fullmatch(names[-1]) if names else None
    rest = _match_backwards(others, names[:-1]) if fit is not None else None
    return {**rest, **fit.groupdict()} if fit is not None and rest is not None else None


def _name(name: str, text: str, kinds: dict[str, str]) -> re.Pattern[str]:
    """Compile the pattern of one name. Few wildcards are allowed, so that matching stays fast."""
    if ANY_NAMES in name:
        raise ValueError(f"pattern {text!r}: {ANY_NAMES} matches whole names: put it between slashes")
    expression, wild = "", 0
    for field, kind, anything, literal, stray in _PART.findall(name):
        if stray:
            raise ValueError(f"pattern {text!r}: a stray {stray!r}: write {{name}}, {{name:int}} or {{name:float}}")
        wild += bool(field or anything)
        if field:
            expression += _group(field, kind or "text", text, kinds)
        else:
            expression += ".*" if anything else re.escape(literal)
    if wild > MOST_WILD:
        message = f"{name!r} has {wild} fields or stars; a name can contain at most {MOST_WILD}"
        raise ValueError(f"pattern {text!r}: {message}")
    return re.compile(expression, re.DOTALL)


def _group(field: str, kind: str, text: str, kinds: dict[str, str]) -> str:
    if kind not in _KINDS:
        raise ValueError(f"pattern {text!r}: {{{field}:{kind}}}: the kinds are {', '.join(_KINDS)}")
    if field in kinds:
        raise ValueError(f"pattern {text!r}: {{{field}}} occurs twice")
    kinds[field] = kind
    return f"(?P<{field}>{_KINDS[kind][0]})"
