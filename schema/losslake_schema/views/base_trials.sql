-- One row per trial, ordered by study and trial_id.
CREATE TABLE base.trials AS
SELECT s.study_id, t.*
FROM (
    SELECT * REPLACE (coalesce(batch_size, 0) AS batch_size)
    FROM read_parquet(getvariable('trials_files'), hive_partitioning = false)
) AS t
JOIN base.studies AS s USING (collection, dataset, model, optimizer, batch_size)
ORDER BY s.study_id, t.trial_id;
