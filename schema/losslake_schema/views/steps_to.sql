-- One row per trial of a study that measures the metric: its steps to the target. Reached means strictly better in the metric's
-- direction, or in that of direction := 'minimize' or 'maximize', without which a metric of unknown direction is an error;
-- comparator := 'inclusive' lets equality count, which is the default where the workload's goals in the metric say so. NaN and
-- infinities never count; a target that the metric can't have, such as 75 for an accuracy, is an error. If never reached,
-- steps, value and previous_step are null.
-- workload := 'collection/dataset/model/optimizer' leaves out other workloads; * stands for any text within one of these parts.
-- flagged := 'include' includes the trials of flags, which are left out otherwise.
CREATE MACRO steps_to(metric, target, direction := NULL, comparator := NULL, workload := NULL, flagged := 'exclude') AS TABLE
$first_hits
