-- One row per study and metric that it measures: what result_at needs of them beside the ranges of targets. frontier: its number;
-- those of a workload in a metric are neighbours. comparator: that of the workload's goals in the metric. lowest and highest: the
-- targets that the metric of a registered quantity can reach, range_in_words says which; null for any other metric.
CREATE TABLE base.frontiers AS
SELECT
    CAST(row_number() OVER (ORDER BY m.metric, s.study_id) AS INTEGER) AS frontier,
    s.study_id, s.collection, s.dataset, s.model, s.optimizer, s.batch_size, m.metric, m.direction,
    coalesce(max(g.comparator), 'strict') AS comparator,
    CAST(any_value(s.n_complete + s.n_missed) - coalesce(any_value(k.n_counted), 0) AS BIGINT) AS n_trials,
    any_value(l.lowest) AS lowest, any_value(l.highest) AS highest, any_value(l.range_in_words) AS range_in_words
FROM base.studies AS s
JOIN base.metrics AS m ON list_contains(s.metrics, m.metric)
LEFT JOIN (VALUES $target_limits) AS l(metric, lowest, highest, range_in_words) ON l.metric = m.metric
LEFT JOIN base.goals AS g ON g.metric = m.metric AND g.collection = s.collection AND g.dataset = s.dataset
    AND g.model = s.model AND g.optimizer = s.optimizer
LEFT JOIN (
    SELECT t.study_id, count(*) AS n_counted
    FROM base.flags AS e
    JOIN base.trials AS t USING (collection, dataset, model, optimizer, batch_size, trial_id)
    WHERE t.status IN ('COMPLETE', 'MISSED')
    GROUP BY t.study_id
) AS k ON k.study_id = s.study_id
GROUP BY s.study_id, s.collection, s.dataset, s.model, s.optimizer, s.batch_size, m.metric, m.direction
ORDER BY frontier;
