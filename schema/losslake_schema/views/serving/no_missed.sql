-- The table base.missed of a release in which no trial can have MISSED: no row.
CREATE TABLE base.missed (
    collection VARCHAR, dataset VARCHAR, model VARCHAR, optimizer VARCHAR, batch_size BIGINT, trial_id BIGINT,
    metric VARCHAR, target DOUBLE
);
