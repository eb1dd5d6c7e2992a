-- One row per trial: one training run, with its metaparameters and status.
CREATE VIEW trials AS
SELECT s.collection, s.dataset, s.model, s.optimizer, s.batch_size, t.* EXCLUDE (study_id)
FROM base.trials AS t
JOIN base.studies AS s USING (study_id);
