"""The trials that count, what they reach, and what of them is left out."""
