"""The page of results: its rows, facets and strips of runs."""
