-- One row per trial of a study that measures the metric: its steps to the target, in the metric's own direction.
-- Reached means strictly better; NaN and infinities never are. Never reached: steps, value and previous_step are null.
CREATE MACRO steps_to(metric, target) AS TABLE
$first_hits
