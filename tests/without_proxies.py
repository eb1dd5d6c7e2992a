"""Tests ask servers of this machine: whatever proxies are set for others, nothing of a session asks one."""

from __future__ import annotations

import os

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Forget the proxies that the environment names, for this process and those that it starts."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]
