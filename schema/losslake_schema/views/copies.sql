-- One row per trial and other log of the same run: with equal bytes and facts, or with equal values and steps. The
-- facts are those that the other log states; an attribute collection says that it was read into another one. No rows where no
-- log was submitted again.
CREATE VIEW copies AS
SELECT
    collection, dataset, model, optimizer, nullif(batch_size, 0) AS batch_size, trial_id, status, steps, parameters, attributes,
    source, source_sha256
FROM base.copies;
