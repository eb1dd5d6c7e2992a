"""Reader of TensorBoard event files: records with checksums, and vectorized parsing of events."""
