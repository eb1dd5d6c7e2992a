"""The base classes of questions: parameters, summaries and columns."""
