-- One row per round, optimizer and batch size of the workloads that a pattern matches: the trial that reached the target in the
-- fewest steps, with the path of its log, and how many trials there are.
SELECT
    t.attributes['round'] ->> '$' AS round, s.optimizer, s.batch_size,
    count(*) AS n_trials,
    count(s.steps) AS n_reached,
    arg_min(
        struct_pack(
            steps := s.steps, previous_step := s.previous_step, value := s.value, source := t.source,
            organisation := t.attributes['org'] ->> '$', position := t.attributes['step'] ->> '$'
        ),
        (s.steps, t.source)
    ) FILTER (s.steps IS NOT NULL) AS best
FROM steps_to($metric, $target, workload := $workload) AS s
JOIN trials AS t USING (collection, dataset, model, optimizer, batch_size, trial_id)
WHERE s.status = 'COMPLETE'
GROUP BY ALL
ORDER BY ALL
