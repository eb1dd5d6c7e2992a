"""A report of training runs beside stored ones: a Markdown document with figures and citations."""
