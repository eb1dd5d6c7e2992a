"""SQL about what is stored beside runs."""
