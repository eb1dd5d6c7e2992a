"""Answers out: the questions that a release can be asked, as functions and over HTTP."""
