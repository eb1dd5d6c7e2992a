"""A worker that never finishes its start, as one does whose disk hangs."""

from __future__ import annotations

import signal

signal.pause()
