-- One row per workload, with its batch sizes and counts.
SELECT * FROM workloads ORDER BY collection, dataset, model, optimizer;
