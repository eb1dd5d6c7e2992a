-- One row per stored collection of $collections: its licence and the number of its trials.
SELECT c.collection, c.licence, CAST(sum(s.n_trials) AS BIGINT) AS n_trials
FROM collections AS c
JOIN studies AS s USING (collection)
WHERE c.collection IN (SELECT unnest($collections))
GROUP BY ALL
ORDER BY ALL
