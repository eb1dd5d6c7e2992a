"""Tests of the pages in a browser; a pytest package, so that all of them share one Chromium."""
