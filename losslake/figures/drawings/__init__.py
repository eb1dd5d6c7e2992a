"""From an answer to the panels of a figure: one file for each kind."""
