"""The parts of the page of a workload, one module each."""
