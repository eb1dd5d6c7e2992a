"""Where the files of a lake lie for good: a folder, or a prefix of a bucket. Every path is relative to the lake."""
