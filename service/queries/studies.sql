-- One row per study, in a range of study_id.
SELECT * EXCLUDE (study_id, source, source_digest)
FROM base.studies
WHERE study_id BETWEEN $first_study AND $last_study
ORDER BY study_id;
