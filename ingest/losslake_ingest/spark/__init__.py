"""A Spark cluster as the engine of an ingest."""
