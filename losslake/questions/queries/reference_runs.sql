-- One row per run of MLPerf's reference implementations that converged: the folder and the file of mlcommons/logging that
-- first has it, its record there, its batch size, the examples to the target, and those of an epoch if they were counted in epochs.
SELECT
    json_extract_string(attributes['folder'], '$') AS folder,
    json_extract_string(attributes['file'], '$') AS file,
    json_extract_string(attributes['record'], '$') AS record,
    batch_size,
    CAST(last_step AS DOUBLE) * batch_size AS examples,
    CASE WHEN attributes['step'] LIKE '%epochs% x %' THEN examples_per_epoch END AS examples_per_epoch
FROM base.trials
JOIN trial_resources USING (collection, dataset, model, optimizer, batch_size, trial_id)
WHERE collection = 'mlperf-rcp' AND status = 'COMPLETE' AND last_step > 0
    AND attributes['folder'] IS NOT NULL AND attributes['file'] IS NOT NULL AND attributes['record'] IS NOT NULL
ORDER BY folder, file, record, study_id, trial_id;
