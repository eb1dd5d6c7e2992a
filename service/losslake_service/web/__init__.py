"""The website of the service."""
