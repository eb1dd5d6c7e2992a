"""The lists of a release: filtered, sorted and paged."""
