"""A release for Apache Spark: the same views and macros as DuckDB's, for what outgrows one machine."""

from losslake.spark.registration import register

__all__ = ["register"]
