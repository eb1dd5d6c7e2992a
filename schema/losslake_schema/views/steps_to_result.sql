-- One row per goal and study: the fewest steps to the target over its COMPLETE and MISSED trials; a tie goes to the lower trial_id. If
-- none reached it, steps is null. examples is null if it exceeds 64 bits.
CREATE VIEW steps_to_result AS
$best_trials
