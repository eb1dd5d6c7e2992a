"""Storage: catalog, stores, releases, publishing, verification, maintenance and export."""
