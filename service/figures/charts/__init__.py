"""The charts, one a file: pure functions from rows to a layered chart, to be put together by service.figures.figure."""
