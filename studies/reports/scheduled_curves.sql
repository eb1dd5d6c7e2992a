-- One row per evaluation, up to the end of its schedule, of a trial that reached that end, in the metric of its workload's goal on validation
-- data: competitor is its recipe, where logs state one, or its optimizer; setting, its numeric metaparameters without those of
-- the schedule and seeds. Of modded-nanogpt only track 3, which keeps its model; the other tracks change it from record to record.
SELECT
    s.collection, s.dataset, s.model, s.batch_size,
    coalesce(trim(BOTH '"' FROM t.attributes['recipe']), s.optimizer) AS competitor,
    array_to_string(list_sort(list_transform(
        list_filter(
            map_entries(t.parameters),
            lambda each: NOT each.key ILIKE '%seed%' AND each.key NOT IN ('decay_start', 'schedule_end', 'warmup_end')
        ),
        lambda each: each.key || '=' || each.value
    )), ', ') AS setting,
    s.optimizer || ' ' || s.trial_id AS trial,
    s.decay_start, s.schedule_end, m.step, CASE g.direction WHEN 'maximize' THEN -m.value ELSE m.value END AS loss
FROM trial_schedules AS s
JOIN trials AS t USING (collection, dataset, model, optimizer, batch_size, trial_id)
JOIN (
    SELECT DISTINCT ON (collection, dataset, model, optimizer) collection, dataset, model, optimizer, metric, direction
    FROM goals
    JOIN metrics USING (metric)
    WHERE metric LIKE 'val/%' AND direction IS NOT NULL
    ORDER BY collection, dataset, model, optimizer, metric
) AS g USING (collection, dataset, model, optimizer)
JOIN measurements AS m USING (collection, dataset, model, optimizer, batch_size, trial_id, metric)
WHERE s.is_finished AND s.decay_start < s.schedule_end AND t.status IN ('COMPLETE', 'MISSED') AND s.collection IN $collections
    AND m.step <= s.schedule_end
    AND (s.collection <> 'modded-nanogpt' OR s.model = 'gpt2_track_3_optimization')
ORDER BY ALL
