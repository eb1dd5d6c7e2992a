"""The intake of runs: their routes, segments, pieces of growing segments, and silent runs."""
