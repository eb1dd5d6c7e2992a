"""Docstrings begin with a verb or a noun, not with a question word: 'Return the steps', not 'What a trial took'."""

from __future__ import annotations

import ast
import re
from itertools import chain
from pathlib import Path

import pytest

from tests.repository.checkout import FOLDERS, ROOT, sources

QUESTION_WORDS = ("What", "How", "Where", "Whether", "Which", "Who", "Why")
# To parse every module takes seconds: ruff sees to the quotes of docstrings.
_MAY_BEGIN = re.compile(rf'"""({"|".join(QUESTION_WORDS)}) ')


def questions(path: Path) -> list[int]:
    """The lines of docstrings, of attributes as well, that begin with a question word."""
    source = path.read_text("utf-8")
    if not _MAY_BEGIN.search(source):
        return []
    texts = (
        statement.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for statement in node.body
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )
    return [text.lineno for text in texts if str(text.value).partition(" ")[0] in QUESTION_WORDS]


def test_no_docstring_begins_with_a_question_word() -> None:
    modules = chain.from_iterable(sources(folder, ".py") for folder in FOLDERS if folder != "tests")
    assert [f"{path.relative_to(ROOT)}:{line}" for path in modules for line in questions(path)] == []


@pytest.mark.parametrize(("docstring", "expected"), [("How it goes.", [1]), ("Return how.", []), ("Howitzer", [])])
def test_question_words_are_found(tmp_path: Path, docstring: str, expected: list[int]) -> None:
    (tmp_path / "module.py").write_text(f'"""{docstring}"""\n')
    assert questions(tmp_path / "module.py") == expected
