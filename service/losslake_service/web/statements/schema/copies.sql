-- Runs that were submitted again in a later round, by round.
SELECT attributes['round'] AS round, count(*) AS n_logs, count(DISTINCT (collection, dataset, model, optimizer, batch_size, trial_id)) AS n_trials
FROM copies GROUP BY ALL ORDER BY ALL
