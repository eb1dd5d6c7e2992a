"""Limits of the protocol. A client checks them before it sends anything, the service before it stores anything."""

from __future__ import annotations

LARGEST_FACTS = 262_144
"""Bytes of the document of a run, run.json."""
LARGEST_SEGMENT = 16 * 2**20
"""Bytes of the JSON lines of a segment. The recorder begins a new one after four million."""
LARGEST_ENCODED_SEGMENT = LARGEST_SEGMENT + 65_536
"""Bytes of a request's body with a segment."""
LARGEST_PIECE = 2**20
"""Characters of a piece of a segment that is still being written."""
LEAST_PIECE = 1_024
"""Bytes that a piece counts in quotas at least, in all until its segment is whole."""
MOST_PIECES = 1_000
"""Pieces of a request, and runs that it says are being recorded."""
MOST_SEGMENTS = 5_000
"""Segments of a run: so many fit into an end.json that the reader takes."""
MOST_GAPS = 100
MOST_ATTEMPTS = 999_999_999
"""The largest number of an attempt or a segment: names of the spool have at most nine digits."""
LARGEST_STEP = 2**53
"""The largest step: integers beyond it aren't exact in JSON of every language."""
MOST_PARAMETERS = 1_000
DEEPEST = 20
"""Lists and objects within an attribute."""
MOST_GOALS = 100
MOST_FILES = 10_000
"""Files of the log that a run was converted from."""
MOST_RUNS = 1_000
"""Runs of a submission."""
MOST_CONTRIBUTORS = 100
MOST_CLAIMS = 1_000
LONGEST_NAME = 200
LONGEST_SCHEDULE_NAME = 100
LONGEST_TEXT = 10_000
LONGEST_NOTE = 10_000
