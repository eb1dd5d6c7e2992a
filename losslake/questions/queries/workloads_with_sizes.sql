-- One row per workload whose trials state the parameters of their model and the tokens of an example.
SELECT DISTINCT collection, dataset, model, optimizer
FROM trial_resources
WHERE coalesce(n_parameters_non_embedding, n_parameters) IS NOT NULL AND tokens_per_example IS NOT NULL
ORDER BY ALL;
