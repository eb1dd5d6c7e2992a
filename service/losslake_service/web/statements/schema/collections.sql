-- Where studies come from, and under which licence.
SELECT collection, title, licence FROM collections
