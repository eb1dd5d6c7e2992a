-- The best evaluation of every trial on a data set, and every evaluation on the Pareto front of all of them; without
-- trials whose batch size changes, for which batch_size is null.
WITH evaluations AS (
  SELECT r.collection, r.dataset, r.model, r.optimizer, r.batch_size, r.trial_id, r.step, r.value,
         CASE $measure WHEN 'steps' THEN r.step WHEN 'examples' THEN r.step * r.batch_size
                       WHEN 'tokens' THEN r.step * r.batch_size * k.tokens_per_example
                       WHEN 'flops' THEN r.step * r.batch_size * (k.tokens_per_example * coalesce(
                         k.flops_per_token, 6 * k.n_active_parameters, 6 * k.n_parameters, 6 * k.n_parameters_non_embedding))
                       ELSE r.elapsed_s END AS amount,
         CASE m.direction WHEN 'minimize' THEN r.value ELSE -r.value END AS loss,
         row_number() OVER (PARTITION BY r.collection, r.model, r.optimizer, r.batch_size, r.trial_id
                            ORDER BY r.step DESC) = 1 AS is_best
  FROM records AS r
  JOIN metrics AS m USING (metric)
  JOIN trials AS t USING (collection, dataset, model, optimizer, batch_size, trial_id)
  JOIN trial_resources AS k USING (collection, dataset, model, optimizer, batch_size, trial_id)
  ANTI JOIN flags AS f USING (collection, dataset, model, optimizer, batch_size, trial_id)
  WHERE r.metric = $metric AND r.dataset = $dataset AND t.status = 'COMPLETE'
), compared AS (
  SELECT *, min(loss) OVER (PARTITION BY amount) AS best_there,
         min(loss) OVER (ORDER BY amount GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS best_before
  FROM evaluations
  WHERE amount >= 0 AND isfinite(amount)
)
SELECT collection, dataset, model, optimizer, batch_size, trial_id, step, amount, value, is_best,
       loss = best_there AND loss < coalesce(best_before, 'inf') AS is_on_front
FROM compared
WHERE is_best OR is_on_front
ORDER BY amount, value, collection, model, optimizer, batch_size, trial_id
