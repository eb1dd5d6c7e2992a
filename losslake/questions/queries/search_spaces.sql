-- One row per study in a range of study_id: its search space by metaparameter, as JSON.
SELECT parameter_configs
FROM base.studies
WHERE study_id BETWEEN $first_study AND $last_study
ORDER BY study_id;
