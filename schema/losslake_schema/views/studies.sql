-- One row per study: a metaparameter search for one workload at one batch size.
CREATE VIEW studies AS
SELECT * EXCLUDE (study_id) FROM base.studies;
