"""Published papers: what their figures show, as data files, and the code that draws any such file from a release."""
