"""Write `methods.json` and `methods.pyi`, the methods of the library, from the declarations of the questions.

The first makes the methods without importing the questions, and the second tells editors and mypy about them:
`python -m losslake.library.generate` after a change of a question.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from losslake.library.question_method import Declaration
from losslake.library.result import result_type
from losslake.questions.declaration.parameters import FormatParameters
from losslake.questions.declaration.question import Question
from losslake.questions.questions import QUESTIONS

FOLDER = Path(__file__).parent
_WIDTH = 108
# What the library decides itself: the format, the release, and the pages of lists.
_NOT_ARGUMENTS = {*FormatParameters.model_fields, "release", "cursor"}
_TYPES = {str: "str", int: "int", float: "float", bool: "bool"}
_HEAD = '''"""Written by `python -m losslake.library.generate` from the declarations of the questions: change those."""

from collections.abc import Sequence
from typing import Any, Literal

from losslake.library.result import Curve, Result

class QuestionMethods:
'''


def generated() -> dict[str, str]:
    """Return the text of each file by its name."""
    questions = {_name(question): _declaration(question) for question in QUESTIONS}
    data = json.dumps(questions, indent=1, ensure_ascii=False) + "\n"
    return {"methods.json": data, "methods.pyi": _formatted(_HEAD + "".join(_stubs(questions)))}


def _name(question: Question) -> str:
    name = question.path.rpartition("/")[2].replace("-", "_")
    # /v1/metaparameters and /v1/analysis/metaparameters are both there.
    if any(other.path == f"/v1/{name}" for other in QUESTIONS if other is not question):
        return question.compute.__module__.rpartition(".")[2]
    return name


def _declaration(question: Question) -> Declaration:
    fields = {name: field for name, field in question.parameters.model_fields.items() if name not in _NOT_ARGUMENTS}
    filters = [column for column in (question.listing.columns if question.listing else ()) if column not in fields]
    return {
        "path": question.path,
        "parameters": {name: _annotation(field) for name, field in fields.items()},
        "required": [name for name, field in fields.items() if field.is_required()],
        "has_filters": bool(filters),
        "doc": "\n".join(_docstring(question, fields, filters)),
    }


def _annotation(field: FieldInfo) -> str:
    kind = _kind(field.annotation)
    return kind if field.is_required() else f"{kind} | None"


def _kind(annotation: Any) -> str:
    """Return the type of a parameter as written; what may be repeated takes a value or a sequence of them."""
    if get_origin(annotation) is list:
        inner = _kind(get_args(annotation)[0])
        return f"{inner} | Sequence[{inner}]"
    if get_origin(annotation) is Literal:
        return f"Literal[{', '.join(map(repr, get_args(annotation)))}]"
    kinds = [each for each in get_args(annotation) if each is not NoneType]
    return _kind(kinds[0]) if kinds else _TYPES[annotation]


def _docstring(question: Question, fields: Mapping[str, FieldInfo], filters: Sequence[str]) -> Iterator[str]:
    yield f"Return the answer of {question.path}."
    yield ""
    yield from textwrap.wrap(question.doc, _WIDTH)
    yield ""
    yield "Args:"
    for name, field in fields.items():
        yield from _wrapped(f"{name}: {' '.join((field.description or '').split())}")
    if filters:
        yield from _wrapped(f"filters: by column, as REST takes them: {', '.join(filters)}")


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8, break_long_words=False)


def _stubs(questions: Mapping[str, Declaration]) -> Iterator[str]:
    for name, question in questions.items():
        parameters, required = question["parameters"], question["required"]
        arguments = ["self", *(f"{each}: {parameters[each]}" for each in required)]
        optional = [f"{each}: {parameters[each]} = None" for each in parameters if each not in required]
        arguments += ["*", *optional] if optional else []
        arguments += ["**filters: Any"] if question["has_filters"] else []
        doc = textwrap.indent(question["doc"].replace("\\", "\\\\"), " " * 8).lstrip()
        yield f"    def {name}({', '.join(arguments)}) -> {result_type(question['path']).__name__}:\n"
        yield f'        """{doc}\n        """\n'


def _formatted(stub: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(FOLDER / "methods.pyi"), "-"]
    return subprocess.run(command, input=stub, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Write the files."""
    for name, text in generated().items():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
