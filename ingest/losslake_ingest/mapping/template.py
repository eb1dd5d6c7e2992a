"""Text with fields in it: `mlperf-{round}`, `{opt_name}`, or `{samples|train_samples}` for the first that is known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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
        whole = _FIELD.fullmatch(self.text)
        if whole:
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
