"""Answers that take long: computed in processes of their own, of which there are few, with a short queue."""
