"""The way from a source to data files and a release: read, gather, convert, write, publish."""
