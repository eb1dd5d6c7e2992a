-- One row per trial in a range of study_id: its numeric metaparameters.
SELECT study_id, trial_id, parameters
FROM base.trials
WHERE study_id BETWEEN $first_study AND $last_study
ORDER BY study_id, trial_id;
