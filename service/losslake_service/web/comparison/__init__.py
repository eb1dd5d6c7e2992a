"""The contents of the page that compares workloads: curves of their best trials, and why they can't be compared."""
