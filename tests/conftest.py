"""For every test: no deadline for single examples, since a busy machine is not a fault."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("losslake", deadline=None)
settings.load_profile("losslake")
