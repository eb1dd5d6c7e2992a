"""What the parts of an ingest hand to each other: a run, a part of a study, a rule, a report. No input or output."""
