-- Appends the records of one metric, so that the table comes out ordered by (metric_id, study_id, trial_id, step) and its
-- zone maps prune to a study. Files hold one study each, sorted within, so there is little left to sort.
INSERT INTO base.records
SELECT
    m.metric_id, s.study_id, r.trial_id, r.step, r.step - r.interval AS previous_step,
    coalesce(r.value, r.digits / r.divisor) AS value, r.elapsed_s
FROM read_parquet(getvariable('records_files'), hive_partitioning = true, hive_types = {
    'collection': VARCHAR, 'dataset': VARCHAR, 'model': VARCHAR, 'optimizer': VARCHAR, 'batch_size': BIGINT
}) AS r
JOIN base.studies AS s USING (collection, dataset, model, optimizer, batch_size)
JOIN base.metrics AS m ON m.metric = r.metric
WHERE r.metric = $metric
ORDER BY s.study_id, r.trial_id, r.step;
