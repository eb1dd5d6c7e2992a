"""A worker that fails at its start, as one does whose libraries are damaged."""

from __future__ import annotations

import sys

sys.exit("can't load /srv/secret/libduckdb.so")
