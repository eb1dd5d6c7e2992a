"""The HTTP client of the command line: requests to a service and downloads of releases."""
