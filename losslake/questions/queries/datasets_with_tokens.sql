-- One row per data set of which some trial's tokens in an example are known.
SELECT DISTINCT dataset FROM trial_resources WHERE tokens_per_example IS NOT NULL ORDER BY dataset;
