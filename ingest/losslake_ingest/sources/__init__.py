"""Sources of logs: a folder, tar, zip, single file or database, read as a stream of files without unpacking."""
