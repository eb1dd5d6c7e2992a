"""What the pages of studies and trials say: their goal, trials, metaparameters, search space and sources."""
