-- One row per workload and fact that its derived rows depend on, of the schema $base of a release: the content of each study,
-- goals, directions of metrics, and trials with small epochs ($small_epochs), which other workloads decide.
CREATE TEMP VIEW $name AS
SELECT collection, dataset, model, optimizer, concat_ws(' ', 'study', batch_size, content_digest) AS fact
FROM $base.studies
UNION ALL
SELECT collection, dataset, model, optimizer, concat_ws(' ', 'goal', metric, target, comparator)
FROM $base.goals
UNION ALL
SELECT DISTINCT s.collection, s.dataset, s.model, s.optimizer, concat_ws(' ', 'direction', m.metric, m.direction)
FROM $base.studies AS s
JOIN $base.metrics AS m ON list_contains(s.metrics, m.metric)
UNION ALL
SELECT collection, dataset, model, optimizer, concat_ws(' ', 'epoch', batch_size, trial_id, examples, least_examples)
FROM $small_epochs;
