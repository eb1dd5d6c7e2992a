-- One row per trial and goal: the first evaluation that is better than the target. This is the body of the macro steps_to and
-- the view steps_to_target. A line that ends in "only: NAME" belongs to that one alone.
--
-- The first hit is a record, where records are known: in the metric's own direction. The joins use the keys of the study, so
-- that DuckDB pushes conditions on them down to the files. The value isn't in the struct: DuckDB returns -0.0 from it as 0.0.
WITH comparators AS (  -- only: steps_to
    SELECT c.collection, c.dataset, c.model, c.optimizer, c.metric, max(c.comparator) AS comparator  -- only: steps_to
    FROM base.goals AS c GROUP BY c.collection, c.dataset, c.model, c.optimizer, c.metric  -- only: steps_to
), hit AS (  -- only: steps_to
WITH hit AS (  -- only: steps_to_target
    SELECT
        r.collection, r.dataset, r.model, r.optimizer, r.batch_size, r.trial_id, g.metric, g.target,
        arg_min(r.value, r.step) AS value,
        arg_min(
            struct_pack(
                step := r.step, previous_step := r.previous_step,
                elapsed_s := CASE WHEN r.elapsed_s >= 0 AND r.elapsed_s < CAST('infinity' AS DOUBLE) THEN r.elapsed_s END
            ),
            r.step
        ) AS first
    FROM base.records AS r  -- only: steps_to_target
    FROM (  -- only: steps_to
        SELECT b.* FROM base.records AS b JOIN base.metrics AS n ON n.metric = b.metric  -- only: steps_to
        WHERE b.metric = metric AND coalesce(direction, n.direction) = n.direction  -- only: steps_to
            AND $matches(b)  -- only: steps_to
        UNION ALL  -- only: steps_to
        SELECT v.collection, v.dataset, v.model, v.optimizer, coalesce(v.batch_size, 0), v.metric, v.trial_id,  -- only: steps_to
            v.step,  -- only: steps_to
            lag(v.step) OVER (  -- only: steps_to
                PARTITION BY v.collection, v.dataset, v.model, v.optimizer, v.batch_size, v.metric, v.trial_id  -- only: steps_to
                ORDER BY v.step  -- only: steps_to
            ) AS previous_step, v.value, v.elapsed_s  -- only: steps_to
        FROM measurements AS v JOIN base.metrics AS n ON n.metric = v.metric  -- only: steps_to
        WHERE v.metric = metric AND direction <> coalesce(n.direction, 'unknown')  -- only: steps_to
            AND $matches(v)  -- only: steps_to
    ) AS r  -- only: steps_to
    JOIN base.metrics AS m ON m.metric = r.metric
    JOIN (SELECT metric AS metric, CAST(target AS DOUBLE) AS target) AS g ON r.metric = metric  -- only: steps_to
    JOIN base.goals AS g ON g.metric = r.metric AND g.collection = r.collection  -- only: steps_to_target
        AND g.dataset = r.dataset AND g.model = r.model AND g.optimizer = r.optimizer  -- only: steps_to_target
    LEFT JOIN comparators AS d ON d.metric = r.metric AND d.collection = r.collection  -- only: steps_to
        AND d.dataset = r.dataset AND d.model = r.model AND d.optimizer = r.optimizer  -- only: steps_to
    WHERE abs(r.value) < CAST('infinity' AS DOUBLE) AND (CASE
        WHEN coalesce(direction, m.direction) = 'minimize'  -- only: steps_to
        WHEN m.direction = 'minimize'  -- only: steps_to_target
        THEN r.value < g.target ELSE r.value > g.target
    END OR r.value = g.target AND 'inclusive' =
        coalesce(comparator, d.comparator)  -- only: steps_to
        g.comparator  -- only: steps_to_target
    )
    GROUP BY r.collection, r.dataset, r.model, r.optimizer, r.batch_size, r.trial_id, g.metric, g.target
)
SELECT
    s.collection, s.dataset, s.model, s.optimizer, z.batch_size, t.trial_id, t.status,
    g.metric, g.target,
    coalesce(comparator, d.comparator, 'strict') AS comparator,  -- only: steps_to
    g.comparator,  -- only: steps_to_target
    h.first.step AS steps, h.value, h.first.previous_step AS previous_step, t.last_step,
    h.first.elapsed_s AS elapsed_s,
    $examples(s.batch_size, c.attributes, h.first.step) AS examples
FROM base.studies AS s
JOIN (SELECT metric AS metric, CAST(target AS DOUBLE) AS target) AS g ON list_contains(s.metrics, metric)  -- only: steps_to
JOIN base.goals AS g ON g.collection = s.collection  -- only: steps_to_target
    AND g.dataset = s.dataset AND g.model = s.model AND g.optimizer = s.optimizer  -- only: steps_to_target
JOIN base.metrics AS m ON m.metric = g.metric
    AND m.direction IS NOT NULL  -- only: steps_to_target
    AND CASE  -- the condition on the metric again: this is evaluated before the join  -- only: steps_to
        WHEN m.metric = metric AND coalesce(direction, m.direction) IS NULL THEN error(  -- only: steps_to
            'it isn''t known whether lower or higher values of ' || m.metric  -- only: steps_to
            || ' are better: add direction := ''minimize'' or ''maximize'''  -- only: steps_to
        )  -- only: steps_to
        WHEN m.metric = metric AND direction NOT IN ('minimize', 'maximize') THEN error(  -- only: steps_to
            'direction ''' || direction || ''' of ' || m.metric || ' is neither minimize nor maximize'  -- only: steps_to
        )  -- only: steps_to
        WHEN m.metric = metric AND isnan(CAST(target AS DOUBLE)) THEN error('the target NaN is no number')  -- only: steps_to
        $beyond_ranges(m)  -- only: steps_to
        WHEN m.metric = metric AND comparator NOT IN ('strict', 'inclusive') THEN error(  -- only: steps_to
            'comparator ''' || comparator || ''' is neither strict nor inclusive'  -- only: steps_to
        )  -- only: steps_to
        WHEN m.metric = metric AND NOT regexp_matches(workload, '^.+/[^/]+/[^/]+/[^/]+$') THEN error(  -- only: steps_to
            'workload ''' || workload || ''' is not collection/dataset/model/optimizer'  -- only: steps_to
        )  -- only: steps_to
        WHEN m.metric = metric AND flagged NOT IN ('exclude', 'include') THEN error(  -- only: steps_to
            'flagged ' || flagged || ' is neither exclude nor include'  -- only: steps_to
        )  -- only: steps_to
        ELSE true  -- only: steps_to
    END  -- only: steps_to
LEFT JOIN comparators AS d ON d.metric = g.metric AND d.collection = s.collection  -- only: steps_to
    AND d.dataset = s.dataset AND d.model = s.model AND d.optimizer = s.optimizer  -- only: steps_to
JOIN base.trials AS t
    ON t.collection = s.collection AND t.dataset = s.dataset AND t.model = s.model AND t.optimizer = s.optimizer
    AND t.batch_size = s.batch_size
LEFT JOIN hit AS h
    ON h.collection = s.collection AND h.dataset = s.dataset AND h.model = s.model AND h.optimizer = s.optimizer
    AND h.batch_size = s.batch_size AND h.trial_id = t.trial_id AND h.metric = g.metric AND h.target = g.target
-- The attributes of all trials would take five times as long to read.
LEFT JOIN (SELECT * FROM base.trials AS u WHERE u.batch_size = 0) AS c
    ON c.collection = t.collection AND c.dataset = t.dataset AND c.model = t.model AND c.optimizer = t.optimizer
    AND c.batch_size = t.batch_size AND c.trial_id = t.trial_id
-- Null for a batch size that changes. A condition on one size is one on this join, and so on the files of the records; nullif isn't.
LEFT JOIN (SELECT DISTINCT y.batch_size FROM base.studies AS y WHERE y.batch_size > 0) AS z ON z.batch_size = s.batch_size
LEFT JOIN base.flags AS k
    ON k.collection = t.collection AND k.dataset = t.dataset AND k.model = t.model AND k.optimizer = t.optimizer
    AND k.batch_size = t.batch_size AND k.trial_id = t.trial_id
WHERE (k.trial_id IS NULL OR flagged = 'include') AND $matches(s)  -- only: steps_to
WHERE k.trial_id IS NULL  -- only: steps_to_target
