"""The pages in a browser: a package to pytest, so that one Chromium is for all of it and ends with it."""
