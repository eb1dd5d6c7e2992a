"""LossLake against peers, on the same data in the same run."""
