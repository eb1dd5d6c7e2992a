"""The parts of the page of a workload: one module each, which asks the answers and says them in words."""
