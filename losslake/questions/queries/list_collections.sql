-- One row per collection.
SELECT collection, title, licence, citation, source_url
FROM base.collections;
