"""Fields are described by the docstrings below them, as by Pydantic's `use_attribute_docstrings`."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from losslake.output.documented import Documented


class Theirs(BaseModel):
    """A model that Pydantic documents."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class OfPydantic(Theirs):
    """The fields, for the oracle."""

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

    class Inner(Theirs):
        """A nested model."""

        plain: int = 0
        """Another meaning."""

    nested: Inner = Inner()
    """A "quoted" one."""


class Ours(Documented):
    """The fields once more."""

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

    class Inner(Documented):
        """A nested model."""

        plain: int = 0
        """Another meaning."""

    nested: Inner = Inner()
    """A "quoted" one."""


def descriptions(model: type[BaseModel]) -> dict[str, str | None]:
    return {name: field.description for name, field in model.model_fields.items()}


def test_descriptions_are_those_of_pydantic() -> None:
    assert descriptions(Ours) == descriptions(OfPydantic)
    assert descriptions(Ours.Inner) == descriptions(OfPydantic.Inner) == {"plain": "Another meaning."}
    assert set(descriptions(Ours).values()) >= {"One line.", 'A "quoted" one.', None}


def test_schema_has_the_descriptions() -> None:
    of_ours, of_theirs = (model.model_json_schema()["properties"] for model in (Ours, OfPydantic))
    assert of_ours == of_theirs


def test_models_inherit_descriptions_and_may_replace_them() -> None:
    class Derived(Ours):
        plain: int = 5
        """In a function, replaced."""
        more: int = 6
        """Added."""

    changes = {"plain": "In a function, replaced.", "more": "Added."}
    assert descriptions(Derived) == descriptions(Ours) | changes
