-- The scaling curve of all optimizers of a model together, with the workload of the best trial.
SELECT batch_size, steps, trial_workload, n_reached, n_trials
FROM pooled_result_at($metric, $target, workload := $collection || '/' || $dataset || '/' || $model || '/*')
ORDER BY batch_size
