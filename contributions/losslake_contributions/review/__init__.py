"""Reviews: what reviewers see of a submission, and how they decide."""
