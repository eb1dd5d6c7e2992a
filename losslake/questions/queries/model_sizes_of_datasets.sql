-- One row per collection and data set with at least $fewest_trials trials of models of at least $fewest_sizes sizes. n_trials: those that state
-- the parameters of their model and the tokens of an example. spread: the largest size over the smallest.
SELECT
    collection, dataset, count(DISTINCT n_parameters) AS n_sizes, count(*) AS n_trials,
    max(n_parameters) / min(n_parameters) AS spread
FROM trial_resources
WHERE n_parameters IS NOT NULL AND tokens_per_example IS NOT NULL
GROUP BY collection, dataset
HAVING n_sizes >= $fewest_sizes AND n_trials >= $fewest_trials
ORDER BY collection, dataset;
