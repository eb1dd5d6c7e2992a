"""The parameters of the analyses, beyond those of every answer about a selection."""

from __future__ import annotations

from service.rest.parameters import GoalParameters


class RegimesParameters(GoalParameters):
    """Where do the regimes of scaling begin and end?"""
