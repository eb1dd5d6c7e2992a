-- One row per record: a measurement strictly better than every earlier one of the same trial and metric.
CREATE VIEW records AS
SELECT
    collection, dataset, model, optimizer, nullif(batch_size, 0) AS batch_size, metric, trial_id, step, previous_step, value, elapsed_s
FROM base.records;
