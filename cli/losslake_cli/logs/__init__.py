"""Commands that bring data in: ingest, mapping, bundles and downloads."""
