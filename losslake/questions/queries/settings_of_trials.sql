-- One row per trial in a range of study_id, by study_id and trial_id: its setting, whether that is known,
-- and its submitter.
SELECT setting, is_known, submitter
FROM base.settings
WHERE study_id BETWEEN $first_study AND $last_study
ORDER BY study_id, trial_id;
