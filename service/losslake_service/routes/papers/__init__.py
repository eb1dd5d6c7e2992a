"""The figures of papers over HTTP: /v1/papers."""
