-- One row per goal and trial of its workload: the steps to the target, null if the trial never reached it. Goals
-- of metrics whose direction is unknown have no rows.
CREATE VIEW steps_to_target AS
$first_hits
