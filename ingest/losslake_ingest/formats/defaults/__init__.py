"""Default mappings of the formats: their own names of columns, axes and statuses."""
