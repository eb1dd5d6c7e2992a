"""Laws over workloads, of critical batch sizes and of losses: points, fits, and published laws beside them."""
