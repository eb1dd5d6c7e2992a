-- One row per trial whose number of examples is flagged. Equal curves are not: they count, and near copies are findings.
SELECT DISTINCT collection, dataset, model, optimizer, batch_size, trial_id
FROM flags
WHERE rule <> 'equal_curve'
