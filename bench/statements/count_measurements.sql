-- One row: how many measurements there are.
SELECT count(*) AS n FROM measurements;
