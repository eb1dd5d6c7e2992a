"""The REST routes: parameters, formats, conditional requests and OpenAPI."""
