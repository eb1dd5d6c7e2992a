"""Download of a release's files and documents."""
