-- One row per record: a measurement strictly better than every earlier one of the same trial and metric.
CREATE VIEW records AS
SELECT
    s.collection, s.dataset, s.model, s.optimizer, s.batch_size,
    m.metric, r.trial_id, r.step, r.previous_step, r.value, r.elapsed_s
FROM base.records AS r
JOIN base.studies AS s USING (study_id)
JOIN base.metrics AS m USING (metric_id);
