"""A release opened for questions, and the names in it."""
