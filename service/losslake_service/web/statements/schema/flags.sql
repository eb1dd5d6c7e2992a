-- The trials that answers leave out: by which rule, with their number of examples and the least plausible number.
FROM flags
ORDER BY examples / least_examples
