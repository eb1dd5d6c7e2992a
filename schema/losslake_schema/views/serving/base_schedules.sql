-- One row per trial whose schedule of the learning rate has a known start of decay or end, in steps: computed once, for the index of
-- each workload.
CREATE TABLE base.schedules AS
SELECT study_id, trial_id, decay_start, schedule_end
FROM (
$schedule_facts
)
WHERE decay_start IS NOT NULL OR schedule_end IS NOT NULL
ORDER BY study_id, trial_id;
