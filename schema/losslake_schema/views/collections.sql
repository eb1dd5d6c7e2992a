-- One row per collection: the source of its studies, with licence and citation.
CREATE VIEW collections AS
SELECT * FROM base.collections;
