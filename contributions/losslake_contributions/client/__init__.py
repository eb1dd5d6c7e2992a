"""The client: pushing runs, sending them while they train, converting logs, and removing private data."""
