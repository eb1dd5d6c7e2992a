-- One row: a trial. same_as: an earlier trial with its curve, if there is one.
SELECT steps, n_evaluations, n_nonfinite, source, source_sha256, content_digest, parameters, attributes, also_submitted, same_as
FROM base.trials
LEFT JOIN base.also_submitted USING (collection, dataset, model, optimizer, batch_size, trial_id)
LEFT JOIN base.equal_curves USING (collection, dataset, model, optimizer, batch_size, trial_id)
WHERE study_id = $study_id AND trial_id = $trial_id;
