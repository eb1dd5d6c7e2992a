-- One row per trial in a range of study_id, ordered by study and trial_id: its batch sizes by step, as JSON; null for one size.
SELECT attributes['batch_schedule'] AS pieces
FROM base.trials
WHERE study_id BETWEEN $first_study AND $last_study
ORDER BY study_id, trial_id;
