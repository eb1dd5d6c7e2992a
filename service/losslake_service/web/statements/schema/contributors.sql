-- Who contributed to which studies, and how many trials.
SELECT collection, dataset, model, optimizer, batch_size, name, orcid, role, count(DISTINCT trial_id) AS n_trials
FROM contributors GROUP BY ALL ORDER BY ALL
