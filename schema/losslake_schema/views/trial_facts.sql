-- One row per trial in a range of study_id, in the order of study and trial_id: what every question needs to know of it.
-- status is an index, from 0, into $statuses; last_step is -1 for a trial that was never evaluated.
SELECT study_id, trial_id, list_position($statuses::VARCHAR[], status) - 1 AS status, coalesce(last_step, -1) AS last_step
FROM base.trials
WHERE study_id BETWEEN $first_study AND $last_study
ORDER BY study_id, trial_id;
