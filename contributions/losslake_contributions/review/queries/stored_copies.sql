-- One row per stored trial whose log has one of the digests $digests.
SELECT collection, dataset, model, optimizer, batch_size, trial_id, source_sha256
FROM trials
WHERE source_sha256 IN (SELECT unnest($digests))
ORDER BY collection, dataset, model, optimizer, batch_size, trial_id
