"""The page that compares workloads."""
