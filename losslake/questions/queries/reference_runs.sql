-- One row per run of MLPerf's reference implementations that converged: the folder and the file of mlcommons/logging that
-- first has it, its record there, its batch size, and the examples to the target.
SELECT
    json_extract_string(attributes['folder'], '$') AS folder,
    json_extract_string(attributes['file'], '$') AS file,
    json_extract_string(attributes['record'], '$') AS record,
    batch_size,
    CAST(last_step AS DOUBLE) * batch_size AS examples
FROM base.trials
WHERE collection = 'mlperf-rcp' AND status = 'COMPLETE' AND last_step > 0
    AND attributes['folder'] IS NOT NULL AND attributes['file'] IS NOT NULL AND attributes['record'] IS NOT NULL
ORDER BY folder, file, record, study_id, trial_id;
