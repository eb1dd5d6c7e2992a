-- One row per trial in a range of study_id, ordered by study and trial_id: the columns that every question needs.
-- flagged: it is in base.flags. status is an index, from 0, into $statuses; last_step is -1 for a trial that was never evaluated.
-- setting: a number that the trials of one setting of a study share; has_setting: whether that is known. submitter: likewise of one
-- submitter, 0 for unknown. decay_start, schedule_end: steps of its schedule of the learning rate, -1 for unknown.
SELECT study_id, trial_id, list_position($statuses::VARCHAR[], status) - 1 AS status, coalesce(last_step, -1) AS last_step,
    (collection, dataset, model, optimizer, batch_size, trial_id) IN (
        SELECT (collection, dataset, model, optimizer, batch_size, trial_id) FROM base.flags
    ) AS flagged,
    dense_rank() OVER (ORDER BY study_id, setting) - 1 AS setting, has_setting,
    CASE WHEN submitter IS NULL THEN 0 ELSE dense_rank() OVER (ORDER BY submitter NULLS LAST) END AS submitter,
    coalesce(decay_start, -1) AS decay_start, coalesce(schedule_end, -1) AS schedule_end
FROM (
$trial_settings
)
LEFT JOIN base.schedules USING (study_id, trial_id)
WHERE study_id BETWEEN $first_study AND $last_study
ORDER BY study_id, trial_id;
