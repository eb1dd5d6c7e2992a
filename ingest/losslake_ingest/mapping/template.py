"""Text with fields in it, and patterns that find fields in a run's path.

A template is `mlperf-{round}`, `{opt_name}`, or `{samples|train_samples}` for the first that is known. A pattern is
`{optimizer}/b{batch_size:int}/seed{trial_id:int}/*.csv`, matched at the end of the path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from losslake_ingest.run_log import Scalar

_FIELD = re.compile(r"\{([^{}]*)\}")


class UnknownField(Exception):
    """A template needs a field that nothing says; alternatives: the names it would take."""

    def __init__(self, alternatives: Sequence[str]) -> None:
        super().__init__(" or ".join(alternatives))
        self.alternatives = alternatives


@dataclass(frozen=True)
class Template:
    """A constant, or text in which `{field}` stands for what the run says.

    A template that is nothing but one field keeps that field's type.
    """

    text: Scalar

    def fill(self, fields: Mapping[str, Scalar]) -> Scalar:
        """The text with every field filled in; raises UnknownField."""
        if not isinstance(self.text, str):
            return self.text
        if whole := _FIELD.fullmatch(self.text):
            return _first_known(whole[1], fields)
        return _FIELD.sub(lambda match: str(_first_known(match[1], fields)), self.text)

    @property
    def names(self) -> list[str]:
        """The fields it may take, in order."""
        if not isinstance(self.text, str):
            return []
        return [name.strip() for match in _FIELD.finditer(self.text) for name in match[1].split("|")]


def _first_known(names: str, fields: Mapping[str, Scalar]) -> Scalar:
    alternatives = [name.strip() for name in names.split("|")]
    for name in alternatives:
        if name in fields:
            return fields[name]
    raise UnknownField(alternatives)


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
    """A pattern: `{name}` takes text within one folder or file name, `{name:int}` and `{name:float}` a number.

    `*` stands for anything within a name, `**` for any names. A pattern has to fit whole names at the path's end.
    """

    text: str
    names: Sequence[re.Pattern[str] | None]
    kinds: Mapping[str, str]

    @staticmethod
    def parse(text: str) -> PathPattern:
        """Raises ValueError with a line about what is wrong."""
        kinds: dict[str, str] = {}
        names = [None if name == ANY_NAMES else _name(name, text, kinds) for name in text.split("/")]
        if names.count(None) > MOST_WILD:
            raise ValueError(f"pattern {text!r}: at most {MOST_WILD} {ANY_NAMES} can stand in it")
        return PathPattern(text, names, kinds)

    def match(self, path: str) -> dict[str, Scalar] | None:
        """The fields that a path gives; None if it doesn't fit."""
        names = path.split("/")[-MOST_NAMES:]
        if any(len(name) > LONGEST_NAME for name in names):
            return None
        texts = _match_backwards(self.names, names)
        try:
            return (
                {name: _KINDS[self.kinds[name]][1](text) for name, text in texts.items()} if texts is not None else None
            )
        except ValueError:
            return None


def _match_backwards(patterns: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> dict[str, str] | None:
    """The texts of the fields, with the last name fitting the last pattern; what is left in front is free."""
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
    """The expression for one folder or file name; few wild parts in it, so that no name takes long to decide."""
    if ANY_NAMES in name:
        raise ValueError(f"pattern {text!r}: {ANY_NAMES} stands for whole names: put it between slashes")
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
        raise ValueError(
            f"pattern {text!r}: {name!r} has {wild} fields or stars, at most {MOST_WILD} can stand in a name"
        )
    return re.compile(expression, re.DOTALL)


def _group(field: str, kind: str, text: str, kinds: dict[str, str]) -> str:
    if kind not in _KINDS:
        raise ValueError(f"pattern {text!r}: {{{field}:{kind}}}: the kinds are {', '.join(_KINDS)}")
    if field in kinds:
        raise ValueError(f"pattern {text!r}: {{{field}}} stands in it twice")
    kinds[field] = kind
    return f"(?P<{field}>{_KINDS[kind][0]})"
