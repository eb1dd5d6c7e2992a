"""Models whose fields are documented by the docstrings below them.

Pydantic's `use_attribute_docstrings` finds the text of each class by Python's own tokenizer, which takes a seventh of a
short command; here each module is parsed once.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, ConfigDict


class Documented(BaseModel):
    """A model whose fields have the docstrings below them as descriptions, unless they state one."""

    model_config = ConfigDict(defer_build=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Describe the fields of a model."""
        texts = _docstrings(getattr(sys.modules[cls.__module__], "__file__", None) or "").get(cls.__qualname__, {})
        for name, field in cls.model_fields.items():
            if field.description is None and name in texts:
                field.description = inspect.cleandoc(texts[name])


@cache
def _docstrings(path: str) -> dict[str, dict[str, str]]:
    """Return the docstrings of the attributes of each class in a file of Python, by the class's qualified name."""
    return dict(_of_classes(ast.parse("".join(linecache.getlines(path))), ""))


def _of_classes(tree: ast.AST, prefix: str) -> Iterator[tuple[str, dict[str, str]]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield f"{prefix}{node.name}", dict(_of_attributes(node))
            yield from _of_classes(node, f"{prefix}{node.name}.")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _of_classes(node, f"{prefix}{node.name}.<locals>.")


def _of_attributes(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for attribute, text in pairwise(node.body):
        if (
            isinstance(attribute, ast.AnnAssign)
            and isinstance(attribute.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        ):
            yield attribute.target.id, text.value.value
