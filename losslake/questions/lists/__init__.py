"""Lists of what a release holds: filtered, sorted, and given page by page."""
