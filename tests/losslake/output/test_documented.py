"""Fields are described by the docstrings below them, as by Pydantic's `use_attribute_docstrings`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from pydantic import BaseModel

FIELDS = '''
from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from losslake.output.documented import Documented


class OfPydantic(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)


class Outer({base}):
    """The fields."""

    plain: int = 0
    """One line."""
    several: Annotated[list[str], Field(min_length=1)]
    """Several lines,
    the second of them indented."""
    stated: int = Field(1, description="What the field states.")
    """A docstring that doesn't count."""
    without: int = 2
    apart: int = 3

    def method(self) -> None:
        """A docstring of no field."""

    class Inner({base}):
        """A nested model."""

        plain: int = 0
        """Another meaning."""

    nested: Inner = Inner()
    """A "quoted" one."""
'''


@pytest.fixture(scope="module")
def outer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The same model by the name of its base."""
    models, folder = {}, tmp_path_factory.mktemp("models")
    with pytest.MonkeyPatch.context() as changes:
        changes.syspath_prepend(folder)
        for base in ("Documented", "OfPydantic"):
            (folder / f"model_of_{base}.py").write_text(FIELDS.format(base=base))
            models[base] = import_module(f"model_of_{base}").Outer
        yield models


def descriptions(model: type[BaseModel]) -> dict[str, str | None]:
    return {name: field.description for name, field in model.model_fields.items()}


def test_descriptions_are_those_of_pydantic(outer: dict[str, Any]) -> None:
    ours, theirs = outer["Documented"], outer["OfPydantic"]
    assert descriptions(ours) == descriptions(theirs)
    assert descriptions(ours.Inner) == descriptions(theirs.Inner) == {"plain": "Another meaning."}
    assert set(descriptions(ours).values()) >= {"One line.", 'A "quoted" one.', None}


def test_schema_has_the_descriptions(outer: dict[str, Any]) -> None:
    of_ours, of_theirs = (model.model_json_schema()["properties"] for model in outer.values())
    assert of_ours == of_theirs


def test_models_inherit_descriptions_and_may_replace_them(outer: dict[str, Any]) -> None:
    ours: Any = outer["Documented"]

    class Derived(ours):  # type: ignore[misc]
        plain: int = 5
        """In a function, replaced."""
        more: int = 6
        """Added."""

    changes = {"plain": "In a function, replaced.", "more": "Added."}
    assert descriptions(Derived) == descriptions(ours) | changes
