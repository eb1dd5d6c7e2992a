"""Releases in Apache Spark: the views and macros of DuckDB, for queries that are too large for one machine."""

from losslake.spark.registration import register

__all__ = ["register"]
