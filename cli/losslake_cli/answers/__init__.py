"""Commands that ask questions: workloads, steps, analyses."""
