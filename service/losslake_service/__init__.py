"""The HTTP service: REST, file downloads, SQL in a sandbox, and web pages."""
