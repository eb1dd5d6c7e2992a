"""Answers as tables: named columns, Arrow batches, and the formats they are sent in."""
