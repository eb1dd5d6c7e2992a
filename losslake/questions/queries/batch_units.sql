-- One row per study in a range of study_id: what its batch size counts.
SELECT coalesce(batch_unit, 'something unknown')
FROM base.studies
WHERE study_id BETWEEN $first_study AND $last_study
ORDER BY study_id;
