"""Middleware for logs, metrics, limits, compression and browser headers."""
