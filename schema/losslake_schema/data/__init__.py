"""Data files of the package: metrics, collections, goals and texts."""
