"""The search of the site: pages, documents, questions, MLPerf results, workloads and comparisons in one ranked list."""
