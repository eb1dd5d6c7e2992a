"""Real batch-size studies: trains many small networks at once and writes the archive layout of Shallue et al. 2019."""
