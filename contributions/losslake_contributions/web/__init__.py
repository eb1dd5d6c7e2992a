"""The pages of the contribution service: drafts in the explorer, and reviews."""
