-- The usual steps of the best setting at each batch size, with the middle half of its trials.
SELECT batch_size, steps, steps_q25, steps_q75, setting, n_seeds, n_settings
FROM best_setting_at($metric, $target, workload := $collection || '/' || $dataset || '/' || $model || '/' || $optimizer)
ORDER BY batch_size
