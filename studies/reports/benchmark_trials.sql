-- One row per trial of the workloads that a pattern matches: its first step at the target, which is null for never, who submitted it in
-- which round, and the round of each other log of its run, of which n_other_bytes have other bytes.
SELECT
    s.optimizer, s.batch_size, s.trial_id, s.status, s.steps, s.value, t.source,
    t.attributes['round'] ->> '$' AS round,
    coalesce(t.attributes['org'], t.attributes['submission_org']) ->> '$' AS submitter,
    t.attributes['source_url'] ->> '$' AS url,
    t.attributes['step'] ->> '$' AS position,
    coalesce(list_transform(c.logs, lambda each: each.round), []) AS also_in,
    coalesce(len(list_filter(c.logs, lambda each: each.sha256 <> t.source_sha256)), 0) AS n_other_bytes
FROM steps_to($metric, $target, workload := $workload) AS s
JOIN trials AS t USING (collection, dataset, model, optimizer, batch_size, trial_id)
LEFT JOIN (
    SELECT
        collection, dataset, model, optimizer, batch_size, trial_id,
        list(struct_pack(round := attributes['round'] ->> '$', sha256 := source_sha256)) AS logs
    FROM copies
    GROUP BY ALL
) AS c USING (collection, dataset, model, optimizer, batch_size, trial_id)
ORDER BY ALL
