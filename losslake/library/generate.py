"""Write the modules of `losslake/library/methods`: a typed method for each question, from its declaration.

They are files, so that a client needs none of the libraries that answer questions, and editors know the signatures:
`python -m losslake.library.generate` after a change of a question.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from losslake.questions.declaration.parameters import FormatParameters
from losslake.questions.declaration.question import Question
from losslake.questions.questions import PREFIX, QUESTIONS

FOLDER = Path(__file__).parent / "methods"
_WIDTH = 116
# What the library decides itself: the format, the release, and the pages of lists.
_NOT_ARGUMENTS = {*FormatParameters.model_fields, "release", "cursor"}
_TYPES = {str: "str", int: "int", float: "float", bool: "bool"}
_HEAD = '''"""{doc}

Written by `python -m losslake.library.generate` from the declarations of the questions: change those.
"""

from __future__ import annotations

{sequence}from typing import Any{literal}

from losslake.library.result import {results}


class {name}(QuestionMethods):
    """{doc}"""
'''
_MODULES = {
    "lists": ("Lists", "The lists of what a release holds."),
    "questions": ("Questions", "The most frequent questions."),
    "analyses": ("Analyses", "The analyses of how a workload scales."),
    "comparisons": ("Comparisons", "The analyses of searches: what was tuned, and how workloads compare."),
    "overviews": ("Overviews", "The analyses of many workloads at once."),
    "costs": ("Costs", "The analyses of what a training will take: time, cost, and how it goes on."),
}
_ANALYSES = {
    "comparisons": {
        "compare", "profiles", "rcp", "survival", "tuning-budget", "metaparameter-map", "metaparameter-optima",
    },
    "overviews": {"atlas", "frontier"},
    "costs": {"advice", "forecast", "time-cost"},
}  # fmt: skip


def modules() -> dict[str, str]:
    """Return the text of each module by its name."""
    parts: dict[str, list[Question]] = {name: [] for name in _MODULES}
    for question in QUESTIONS:
        parts[_module_of(question)].append(question)
    return {name: _module(*_MODULES[name], questions) for name, questions in parts.items()}


def _module_of(question: Question) -> str:
    if question.listing is not None:
        return "lists"
    if not question.path.startswith(PREFIX):
        return "questions"
    name = question.path.removeprefix(PREFIX)
    return next((module for module, names in _ANALYSES.items() if name in names), "analyses")


def _module(name: str, doc: str, questions: Sequence[Question]) -> str:
    body = "".join(_method(question) for question in questions)
    results = sorted(["QuestionMethods", *(each for each in ("Curve", "Result") if f"-> {each}:" in body)])
    return (
        _HEAD.format(
            name=name,
            doc=doc,
            sequence="from collections.abc import Sequence\n" if "Sequence[" in body else "",
            literal=", Literal" if "Literal[" in body else "",
            results=", ".join(results),
        )
        + body
    )


def _method(question: Question) -> str:
    fields = {name: field for name, field in question.parameters.model_fields.items() if name not in _NOT_ARGUMENTS}
    first = [name for name, field in fields.items() if field.is_required()]
    filters = [column for column in (question.listing.columns if question.listing else ()) if column not in fields]
    result = "Curve" if question.path == "/v1/scaling" else "Result"
    arguments = [*first, *(["*"] if len(fields) > len(first) else []), *(name for name in fields if name not in first)]
    lines = [f"        {_argument(name, fields)}," for name in ("self", *arguments)]
    lines += ["        **filters: Any,"] if filters else []
    given = ", ".join(f'"{name}": {name}' for name in fields)
    given += ", **filters" if filters else ""
    name = question.path.rpartition("/")[2].replace("-", "_")
    # /v1/metaparameters and /v1/analysis/metaparameters are both there.
    if any(other.path == f"/v1/{name}" for other in QUESTIONS if other is not question):
        name = question.compute.__module__.rpartition(".")[2]
    return "\n".join(
        [
            "",
            f"    def {name}(",
            *lines,
            f"    ) -> {result}:",
            *_docstring(question, fields, filters),
            f"        parameters: dict[str, Any] = {{{given}}}",
            f'        answer: {result} = self._answer("{question.path}", parameters)',
            "        return answer",
            "",
        ]
    )


def _argument(name: str, fields: dict[str, FieldInfo]) -> str:
    if name not in fields:
        return name
    field = fields[name]
    kind = _kind(field.annotation)
    return f"{name}: {kind}" if field.is_required() else f"{name}: {kind} | None = None"


def _kind(annotation: Any) -> str:
    """Return the type of a parameter as written; what may be repeated takes a value or a sequence of them."""
    if get_origin(annotation) is list:
        inner = _kind(get_args(annotation)[0])
        return f"{inner} | Sequence[{inner}]"
    if get_origin(annotation) is Literal:
        choices = ", ".join(f'"{each}"' for each in get_args(annotation))
        return f"Literal[{choices}]"
    kinds = [each for each in get_args(annotation) if each is not NoneType]
    return _kind(kinds[0]) if kinds else _TYPES[annotation]


def _docstring(question: Question, fields: dict[str, FieldInfo], filters: Sequence[str]) -> Iterator[str]:
    yield f'        """Return the answer of {question.path}.'
    yield ""
    yield from textwrap.wrap(question.doc, _WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)
    yield ""
    yield "        Args:"
    for name, field in fields.items():
        yield from _wrapped(f"{name}: {' '.join((field.description or '').split())}")
    if filters:
        yield from _wrapped(f"filters: by column, as REST takes them: {', '.join(filters)}")
    yield '        """'


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text.replace("\\", "\\\\"), _WIDTH, initial_indent=" " * 12, subsequent_indent=" " * 16, break_long_words=False
    )


def main() -> None:
    """Write the modules."""
    for name, text in modules().items():
        (FOLDER / f"{name}.py").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
