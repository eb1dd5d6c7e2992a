-- One row per trial, contributor and role: who gave the trial, or otherwise contributed to it. No rows where a release
-- names no contributors.
CREATE VIEW contributors AS
SELECT * REPLACE (nullif(batch_size, 0) AS batch_size) FROM base.contributors;
