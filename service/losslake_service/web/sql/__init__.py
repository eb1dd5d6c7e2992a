"""What the SQL page is made of."""
