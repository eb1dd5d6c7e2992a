-- One row per study of a workload: the steps that its trials had to run to count as COMPLETE; 0 where a time was set
-- instead, or where the source doesn't say.
SELECT coalesce(train_steps, 0)
FROM base.studies
WHERE study_id BETWEEN $first_study AND $last_study
ORDER BY study_id;
