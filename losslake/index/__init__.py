"""The index of a release: files built once, from which questions are answered in microseconds."""
