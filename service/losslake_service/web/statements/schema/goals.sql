-- The goals of all workloads, and who set them.
SELECT dataset, model, optimizer, metric, target, source FROM goals ORDER BY ALL
