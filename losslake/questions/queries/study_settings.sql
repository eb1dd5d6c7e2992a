-- One row per study of the release: what its batch size counts, and the steps that its trials had to run to count as
-- COMPLETE; 0 where a time was set instead, or where the source doesn't say.
SELECT study_id, coalesce(batch_unit, 'something unknown') AS batch_unit, coalesce(train_steps, 0) AS train_steps
FROM base.studies
ORDER BY study_id;
