-- The table base.flags of a release in which no trial can be flagged: no row.
CREATE TABLE base.flags (
    collection VARCHAR, dataset VARCHAR, model VARCHAR, optimizer VARCHAR, batch_size BIGINT, trial_id BIGINT,
    rule VARCHAR, metric VARCHAR, target DOUBLE, examples DOUBLE, least_examples DOUBLE
);
