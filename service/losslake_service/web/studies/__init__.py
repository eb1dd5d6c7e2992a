"""The contents of the pages of studies and trials: goal, trials, metaparameters, search space and sources."""
