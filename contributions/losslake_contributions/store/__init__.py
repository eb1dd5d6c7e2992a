"""What the contribution service keeps: tables in the lake's database, files in its store."""
