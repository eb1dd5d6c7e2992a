-- One row per batch size (null: trials whose batch size changes) of all workloads that match workload := 'collection/dataset/model/optimizer', where * stands for any
-- text within one of the four parts: the fewest steps to the target over the trials of their studies that measure the
-- metric, those that are COMPLETE or MISSED. A tie goes to the first workload, then to the lower trial_id. Batch sizes in different units, and goals of different
-- comparators, are an error. direction, comparator and flagged are as for steps_to; without workload, all workloads are pooled.
CREATE MACRO pooled_result_at(metric, target, direction := NULL, comparator := NULL, workload := '*/*/*/*', flagged := 'exclude') AS TABLE
SELECT
    r.batch_size, r.metric, r.target, r.comparator, r.steps, r.trial_workload, r.trial_id, r.value, r.examples, r.previous_step,
    r.n_workloads, r.n_trials, r.n_reached
FROM (
    SELECT
        t.batch_size, t.metric, t.target,
        min(t.comparator) AS comparator,
        min(t.steps) AS steps,
        arg_min(t.trial_workload, (t.steps, t.collection, t.dataset, t.model, t.optimizer, t.trial_id))
            FILTER (t.steps IS NOT NULL) AS trial_workload,
        arg_min(t.trial_id, (t.steps, t.collection, t.dataset, t.model, t.optimizer, t.trial_id))
            FILTER (t.steps IS NOT NULL) AS trial_id,
        first(t.value ORDER BY t.steps, t.collection, t.dataset, t.model, t.optimizer, t.trial_id)
            FILTER (t.steps IS NOT NULL) AS value,
        arg_min(
            struct_pack(examples := t.examples), (t.steps, t.collection, t.dataset, t.model, t.optimizer, t.trial_id)
        ) FILTER (t.steps IS NOT NULL).examples AS examples,
        arg_min(
            struct_pack(step := t.previous_step), (t.steps, t.collection, t.dataset, t.model, t.optimizer, t.trial_id)
        ) FILTER (t.steps IS NOT NULL).step AS previous_step,
        count(DISTINCT t.trial_workload) AS n_workloads,
        count(*) FILTER (t.status IN ('COMPLETE', 'MISSED')) AS n_trials,
        count(t.steps) AS n_reached,
        min(min(t.batch_unit)) OVER () AS first_unit, max(max(t.batch_unit)) OVER () AS last_unit,
        min(min(t.comparator)) OVER () AS first_comparator, max(max(t.comparator)) OVER () AS last_comparator
    FROM (
        SELECT
            h.collection, h.dataset, h.model, h.optimizer, h.batch_size, h.trial_id, h.status, h.metric, h.target, h.comparator,
            h.value, h.previous_step, h.examples,
            CASE WHEN h.status IN ('COMPLETE', 'MISSED') THEN h.steps END AS steps,
            concat_ws('/', h.collection, h.dataset, h.model, h.optimizer) AS trial_workload,
            coalesce(s.batch_unit, 'something unknown') AS batch_unit
        FROM steps_to(metric, target, direction := direction, comparator := comparator, workload := workload, flagged := flagged) AS h
        JOIN base.studies AS s
            ON s.collection = h.collection AND s.dataset = h.dataset AND s.model = h.model AND s.optimizer = h.optimizer
            AND s.batch_size = coalesce(h.batch_size, 0)
    ) AS t
    GROUP BY t.batch_size, t.metric, t.target
) AS r
WHERE CASE
    WHEN r.first_unit <> r.last_unit THEN error(
        'batch sizes that count ' || r.first_unit || ' and ' || r.last_unit || ' are not pooled: give a narrower workload'
    )
    WHEN r.first_comparator <> r.last_comparator THEN error(
        'the goals of these workloads differ in their comparator: add comparator := ''strict'' or ''inclusive'''
    )
    ELSE true
END
