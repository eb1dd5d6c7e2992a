"""Laws of critical batch sizes over workloads: their points, fits, and published laws beside them."""
