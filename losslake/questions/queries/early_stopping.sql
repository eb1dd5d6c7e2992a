-- One row per study in a range of study_id: whether bad trials may have been stopped early; null where the source doesn't say.
SELECT early_stopping
FROM base.studies
WHERE study_id BETWEEN $first_study AND $last_study
ORDER BY study_id;
