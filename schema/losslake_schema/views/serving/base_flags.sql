-- One row per flagged trial: one that reached a goal of its workload with far fewer examples than its neighbours in batch size
-- allow, mostly because its log counts epochs or examples in another way. The fewest examples to a target never fall as the batch
-- size grows, and the fewest steps never rise. So the neighbours (up to three batch sizes on either side) give a least number of
-- examples each: the examples of a smaller batch size, or the steps of a larger one times the batch size. A trial with less than
-- a quarter of their median is flagged. Slow trials are not: searches have them by design.
-- Also flagged are those of small_epochs.
CREATE TABLE base.flags AS
WITH best AS (
    SELECT h.collection, h.dataset, h.model, h.optimizer, h.batch_size, h.metric, h.target, CAST(min(h.steps) AS DOUBLE) AS steps
    FROM goal_hits AS h
    JOIN base.trials AS t USING (collection, dataset, model, optimizer, batch_size, trial_id)
    WHERE t.status = 'COMPLETE' AND h.batch_size > 0
    GROUP BY ALL
),
neighbour AS (
    SELECT
        b.collection, b.dataset, b.model, b.optimizer, b.batch_size, b.metric, b.target,
        n.steps * least(n.batch_size, b.batch_size) AS examples,
        row_number() OVER (
            PARTITION BY b.collection, b.dataset, b.model, b.optimizer, b.batch_size, b.metric, b.target,
                n.batch_size > b.batch_size
            ORDER BY abs(n.batch_size - b.batch_size)
        ) AS place
    FROM best AS b
    JOIN best AS n USING (collection, dataset, model, optimizer, metric, target)
    WHERE n.batch_size <> b.batch_size
),
least AS (
    SELECT collection, dataset, model, optimizer, batch_size, metric, target, median(examples) AS least_examples
    FROM neighbour
    WHERE place <= 3
    GROUP BY ALL
    HAVING count(*) >= 3
)
SELECT DISTINCT ON (collection, dataset, model, optimizer, batch_size, trial_id) *
FROM (
    SELECT
        h.collection, h.dataset, h.model, h.optimizer, h.batch_size, h.trial_id,
        'too_few_examples' AS rule,
        arg_max(h.metric, (l.least_examples / greatest(h.steps * h.batch_size, 1), h.metric, h.target)) AS metric,
        arg_max(h.target, (l.least_examples / greatest(h.steps * h.batch_size, 1), h.metric, h.target)) AS target,
        arg_max(h.steps * h.batch_size, (l.least_examples / greatest(h.steps * h.batch_size, 1), h.metric, h.target)) AS examples,
        arg_max(l.least_examples, (l.least_examples / greatest(h.steps * h.batch_size, 1), h.metric, h.target)) AS least_examples
    FROM (SELECT * REPLACE (CAST(steps AS DOUBLE) AS steps) FROM goal_hits) AS h
    JOIN least AS l USING (collection, dataset, model, optimizer, batch_size, metric, target)
    WHERE h.steps * h.batch_size < l.least_examples / 4
    GROUP BY ALL
    UNION ALL
    SELECT collection, dataset, model, optimizer, batch_size, trial_id, 'small_epoch', NULL, NULL, examples, least_examples
    FROM small_epochs
    ANTI JOIN unchanged USING (collection, dataset, model, optimizer)
)
ORDER BY collection, dataset, model, optimizer, batch_size, trial_id, rule;
