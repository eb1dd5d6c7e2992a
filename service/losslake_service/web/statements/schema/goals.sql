-- The goals of all workloads, with who set them.
SELECT dataset, model, optimizer, metric, target, source FROM goals ORDER BY ALL
