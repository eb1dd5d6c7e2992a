-- Every workload with its trials, and how many of them diverged
SELECT collection, dataset, model, optimizer, n_trials, n_infeasible, n_infeasible / n_trials AS share_infeasible
FROM workloads
ORDER BY n_trials DESC, collection, dataset, model, optimizer
