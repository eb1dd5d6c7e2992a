"""The charts, one a file: pure functions from rows to a layered chart, put together by losslake.figures.figure."""
