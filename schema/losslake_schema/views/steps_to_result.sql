-- One row per goal and study: the least steps to target over its COMPLETE trials, ties to the lower trial_id; null steps
-- when none reached it. `examples` is null where it exceeds 64 bits.
CREATE VIEW steps_to_result AS
$best_trials
