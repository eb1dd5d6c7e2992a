-- One row per record of a metric in a workload: when it was measured, in seconds since the start of training; null where
-- the log has no times. In the order of the table, which is that of study, trial_id and step: the records' own.
SELECT elapsed_s
FROM base.records
WHERE metric_id = $metric_id AND study_id BETWEEN $first_study AND $last_study;
