-- One row: a trial.
SELECT steps, n_evaluations, n_nonfinite, source, source_sha256, content_digest, parameters, attributes
FROM base.trials
WHERE study_id = $study_id AND trial_id = $trial_id;
