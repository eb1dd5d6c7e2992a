"""Notifications: who is told of what became of runs and submissions, by a webhook or by e-mail."""
