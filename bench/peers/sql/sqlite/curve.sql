-- One row per evaluation of a metric in a trial; SQLite keeps nan as NULL.
SELECT step, value
FROM studies
JOIN measurements USING (study_id)
JOIN metrics USING (metric_id)
WHERE workload = :workload AND batch_size = :batch_size AND metric = :metric AND trial_id = :trial_id;
