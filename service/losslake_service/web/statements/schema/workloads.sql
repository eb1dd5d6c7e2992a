-- The workloads with the most trials.
SELECT workload, batch_sizes, n_trials FROM workloads ORDER BY n_trials DESC LIMIT 20
