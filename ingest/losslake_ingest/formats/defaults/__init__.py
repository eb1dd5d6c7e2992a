"""What each format itself says, as mappings."""
