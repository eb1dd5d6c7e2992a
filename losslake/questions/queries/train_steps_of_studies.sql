-- One row per study in a range of study_id: the least number of steps for a trial to count as COMPLETE.
SELECT train_steps
FROM base.studies
WHERE study_id BETWEEN $first_study AND $last_study
ORDER BY study_id;
