"""Benchmarks: each measures LossLake and its floors or peers in one run."""
