"""Read-only tools for assistants, by the Model Context Protocol: at `/mcp`, and over stdio with `losslake mcp`."""
