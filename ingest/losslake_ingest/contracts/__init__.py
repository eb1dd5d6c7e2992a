"""Data structures that the stages of an ingest share: runs, parts of studies, rules, reports. No input or output."""
