"""Reports: what a release says about questions that were asked before, in prose with the numbers of its analyses."""
