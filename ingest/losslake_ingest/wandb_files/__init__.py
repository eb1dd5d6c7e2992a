"""Files of Weights & Biases: panels, histories, offline runs, and what of them is never kept."""
