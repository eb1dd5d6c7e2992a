-- One row per study that measures the metric: the same as in `../result_at.sql`. Without a direction, it finds the range of targets
-- that has the target, in the metric's own direction; with one, it reads the records or the measurements. So a statement without it
-- names no data file, and DuckDB plans it in a tenth of the time.
CREATE MACRO result_at(metric, target, comparator := NULL) AS TABLE (
SELECT
    f.collection, f.dataset, f.model, f.optimizer, nullif(f.batch_size, 0) AS batch_size, f.metric, CAST(target AS DOUBLE) AS target,
    coalesce(comparator, f.comparator) AS comparator,
    r.steps, r.trial_id, r.value,
    CASE
        WHEN f.batch_size = 0 THEN r.scheduled_examples
        WHEN r.steps <= 9223372036854775807 // f.batch_size THEN r.steps * f.batch_size
    END AS examples,
    r.previous_step, f.n_trials, r.n_reached
FROM base.frontiers AS f
JOIN base.target_ranges AS r ON r.frontier = f.frontier
WHERE f.metric = metric AND CASE
    WHEN f.metric = metric AND f.direction IS NULL THEN error(
        'it isn''t known whether lower or higher values of ' || f.metric
        || ' are better: add direction := ''minimize'' or ''maximize'''
    )
    WHEN f.metric = metric AND isnan(CAST(target AS DOUBLE)) THEN error('the target NaN is no number')
    WHEN f.metric = metric AND NOT CAST(target AS DOUBLE) BETWEEN f.lowest AND f.highest THEN error(
        f.range_in_words || CASE
            WHEN CAST(target AS DOUBLE) BETWEEN 1 AND 100 THEN ': did you mean ' || round(CAST(target AS DOUBLE) / 100, 8) || '?'
            ELSE ': give a target there, not ' || CAST(target AS DOUBLE)
        END
    )
    WHEN f.metric = metric AND comparator NOT IN ('strict', 'inclusive') THEN error(
        'comparator ''' || comparator || ''' is neither strict nor inclusive'
    )
    ELSE f.n_trials > 0
END
AND coalesce(
    CASE
        WHEN f.direction = 'minimize' THEN r.reaching < CAST(target AS DOUBLE) ELSE r.reaching > CAST(target AS DOUBLE)
    END OR r.reaching = CAST(target AS DOUBLE) AND coalesce(comparator, f.comparator) = 'inclusive',
    r.reaching IS NULL
)
AND NOT coalesce(
    CASE
        WHEN f.direction = 'minimize' THEN r.short < CAST(target AS DOUBLE) ELSE r.short > CAST(target AS DOUBLE)
    END OR r.short = CAST(target AS DOUBLE) AND coalesce(comparator, f.comparator) = 'inclusive',
    false
)
), (metric, target, direction, comparator := NULL, flagged := 'exclude') AS TABLE (
$best_trials
);
