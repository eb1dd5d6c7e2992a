"""SQL of untrusted clients, in processes that can only read one release and write a bounded result."""
