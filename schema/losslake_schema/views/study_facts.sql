-- One row per study, in the order of study_id, in which a workload's studies are neighbours.
SELECT study_id, collection, dataset, model, optimizer, batch_size, metrics, content_digest
FROM base.studies
ORDER BY study_id;
