-- One row per trial of $trials: the digest of its log.
SELECT concat_ws('/', collection, dataset, model, optimizer, coalesce(CAST(batch_size AS VARCHAR), 'scheduled'), trial_id) AS trial, source_sha256
FROM trials
WHERE trial IN (SELECT unnest($trials))
