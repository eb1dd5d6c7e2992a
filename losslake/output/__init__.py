"""Answers as Arrow batches with named columns, and the formats in which they are sent."""
