-- One row per optimizer and status of its trials; INFEASIBLE ones diverged.
SELECT optimizer, status, count(*) AS n_trials
FROM trials
GROUP BY optimizer, status
ORDER BY optimizer, status;
