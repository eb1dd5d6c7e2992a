"""TensorBoard event files: records with checksums, events on the wire, many of them at a time."""
