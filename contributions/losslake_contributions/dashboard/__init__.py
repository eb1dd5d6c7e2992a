"""The local dashboard: runs in a folder, while they are recorded or logged there. See docs/explorer.md."""
