-- The table base.also_submitted of a release without copies: no row.
CREATE TABLE base.also_submitted (
    collection VARCHAR, dataset VARCHAR, model VARCHAR, optimizer VARCHAR, batch_size BIGINT, trial_id BIGINT,
    also_submitted VARCHAR
);
