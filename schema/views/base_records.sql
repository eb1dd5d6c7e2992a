-- One row per record: a measurement strictly better than every earlier one of its trial and metric.
CREATE TABLE base.records (
    metric_id SMALLINT, study_id INTEGER, trial_id BIGINT, step BIGINT, previous_step BIGINT, value DOUBLE, elapsed_s DOUBLE
);
