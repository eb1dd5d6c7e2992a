-- One row per study that measures the metric: the same as in `../result_at.sql`. Without a direction, it reads the frontiers,
-- which are in the metric's own direction; with one, the records or the measurements. So a statement without it names no data file,
-- and DuckDB plans it in a tenth of the time.
CREATE MACRO result_at(metric, target, comparator := NULL) AS TABLE (
SELECT
    h.collection, h.dataset, h.model, h.optimizer, h.batch_size, h.metric, h.target, h.comparator,
    h.first.step AS steps, h.first.trial_id AS trial_id, h.first.value AS value,
    CASE WHEN h.first.step <= 9223372036854775807 // h.batch_size THEN h.first.step * h.batch_size END AS examples,
    h.first.previous_step AS previous_step, h.n_trials, h.n_reached
FROM (
    SELECT
        f.collection, f.dataset, f.model, f.optimizer, f.batch_size, f.metric, CAST(target AS DOUBLE) AS target,
        coalesce(comparator, f.comparator) AS comparator, f.n_trials,
        list_filter(f.hits, lambda hit: CASE
            WHEN f.direction = 'minimize' THEN hit.value < CAST(target AS DOUBLE) ELSE hit.value > CAST(target AS DOUBLE)
        END OR hit.value = CAST(target AS DOUBLE) AND coalesce(comparator, f.comparator) = 'inclusive')[1] AS first,
        len(list_filter(f.bests, lambda best: CASE
            WHEN f.direction = 'minimize' THEN best < CAST(target AS DOUBLE) ELSE best > CAST(target AS DOUBLE)
        END OR best = CAST(target AS DOUBLE) AND coalesce(comparator, f.comparator) = 'inclusive')) AS n_reached
    FROM base.frontiers AS f
    WHERE f.metric = metric AND CASE
        WHEN f.metric = metric AND f.direction IS NULL THEN error(
            'it isn''t known whether lower or higher values of ' || f.metric
            || ' are better: add direction := ''minimize'' or ''maximize'''
        )
        WHEN f.metric = metric AND comparator NOT IN ('strict', 'inclusive') THEN error(
            'comparator ''' || comparator || ''' is neither strict nor inclusive'
        )
        ELSE f.n_trials > 0
    END
) AS h
), (metric, target, direction, comparator := NULL, flagged := 'exclude') AS TABLE (
$best_trials
);
