"""Stores for the files of a lake: a folder, or a prefix of a bucket. All paths are relative to the lake."""
