-- One row if a trial can be flagged, else none: one that reached a goal, or has a small epoch.
SELECT 1 WHERE EXISTS (FROM goal_hits) OR EXISTS (FROM small_epochs);
