"""The commands of `losslake`."""
