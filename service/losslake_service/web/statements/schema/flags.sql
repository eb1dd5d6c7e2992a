-- The trials that answers leave out: by which rule, with their examples and the least that would be believed.
FROM flags
ORDER BY examples / least_examples
