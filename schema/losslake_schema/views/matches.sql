-- True for a study of the table $t that the parameter workload matches, a pattern in which * stands for any text within
-- collection, dataset, model or optimizer; true for all if it is null. Part of the text of macros.
coalesce(
    $t.collection LIKE regexp_replace(
        replace(replace(replace(replace(workload, '!', '!!'), '%', '!%'), '_', '!_'), '*', '%'), '(/[^/]*){3}$', ''
    ) ESCAPE '!'
    AND $t.dataset LIKE replace(
        replace(replace(replace(split_part(workload, '/', -3), '!', '!!'), '%', '!%'), '_', '!_'), '*', '%'
    ) ESCAPE '!'
    AND $t.model LIKE replace(
        replace(replace(replace(split_part(workload, '/', -2), '!', '!!'), '%', '!%'), '_', '!_'), '*', '%'
    ) ESCAPE '!'
    AND $t.optimizer LIKE replace(
        replace(replace(replace(split_part(workload, '/', -1), '!', '!!'), '%', '!%'), '_', '!_'), '*', '%'
    ) ESCAPE '!',
    true
)
