-- One row per stored trial of a data set and model that has a finite value of $metric: its least and its greatest.
SELECT min(value) AS least, max(value) AS greatest
FROM measurements
WHERE dataset = $dataset AND model = $model AND metric = $metric AND isfinite(value)
GROUP BY collection, optimizer, batch_size, trial_id
