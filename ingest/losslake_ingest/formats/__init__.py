"""Log formats: each turns the files of a source into parts of studies, and knows nothing of storage."""
