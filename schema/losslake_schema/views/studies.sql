-- One row per study: a metaparameter search for one workload at one batch size; or, with batch_size null, its trials whose
-- batch size changes. schedule: the name of these changes if all trials of such a study share them; null otherwise.
CREATE VIEW studies AS
SELECT * EXCLUDE (study_id) REPLACE (nullif(batch_size, 0) AS batch_size) FROM base.studies;
