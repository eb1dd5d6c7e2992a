-- One row per submission and workload of a collection of AlgoPerf: the median over its studies of the least seconds in which any
-- of a study's trials reached the validation target; infinity for never.
SELECT h.optimizer, h.dataset, h.model, median(h.seconds) AS seconds
FROM (
    SELECT
        s.optimizer, s.dataset, s.model, t.attributes['study'] AS study,
        coalesce(min(r.elapsed_s), 'inf'::DOUBLE) AS seconds
    FROM steps_to_target AS s
    JOIN goals AS g USING (collection, dataset, model, optimizer, metric, target)
    JOIN trials AS t USING (collection, dataset, model, optimizer, batch_size, trial_id)
    LEFT JOIN records AS r
        ON r.collection = s.collection AND r.dataset = s.dataset AND r.model = s.model AND r.optimizer = s.optimizer
        AND r.batch_size = s.batch_size AND r.metric = s.metric AND r.trial_id = s.trial_id AND r.step = s.steps
    WHERE s.collection = $collection AND g.source = 'AlgoPerf, validation_target_value'
    GROUP BY ALL
) AS h
GROUP BY ALL
ORDER BY ALL
