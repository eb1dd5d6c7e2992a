"""Drafts: a small lake with the stored workloads that runs belong beside, and then with the runs."""
