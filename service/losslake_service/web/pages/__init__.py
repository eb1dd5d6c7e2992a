"""The pages: one module each, which makes what its template shows."""
