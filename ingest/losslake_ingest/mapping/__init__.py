"""What a log doesn't say: the mapping file that names its study, its trial, its metrics and its steps."""
