"""How the answers' classes describe themselves: the docstring under a field becomes its description in OpenAPI."""

from __future__ import annotations

from pydantic import ConfigDict

DESCRIBED = ConfigDict(use_attribute_docstrings=True)
