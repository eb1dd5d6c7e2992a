"""Log formats: each turns the files of a source into runs or parts of studies. Independent of storage."""
