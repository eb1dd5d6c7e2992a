-- One row per goal and trial of its workload: the steps to target, null when the trial never reached it.
CREATE VIEW steps_to_target AS
$first_hits
