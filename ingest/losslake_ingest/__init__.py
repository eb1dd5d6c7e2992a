"""Ingest of training logs into a lake."""
