"""Bundles: the trials of published collections in one file, from which an ingest takes them without their logs."""
