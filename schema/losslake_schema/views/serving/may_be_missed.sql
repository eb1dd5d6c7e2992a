-- One row if a trial can have MISSED, else none: one that is INCOMPLETE, and a goal.
SELECT 1 WHERE EXISTS (FROM base.goals) AND EXISTS (FROM base.trials WHERE status = 'INCOMPLETE');
