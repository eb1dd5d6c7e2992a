-- One row per trial, contributor and role: who gave the trial, or otherwise contributed to it. No rows where a release
-- names no contributors.
CREATE VIEW contributors AS
SELECT
    collection, dataset, model, optimizer, nullif(batch_size, 0) AS batch_size, trial_id, name, orcid, role, contribution
FROM base.contributors;
