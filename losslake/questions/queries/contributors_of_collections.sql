-- One row per collection, contributor and role.
SELECT DISTINCT collection, name, orcid, role
FROM base.contributors
ORDER BY ALL;
