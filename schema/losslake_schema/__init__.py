"""What a measurement is: tables, metrics, goals, views, and the lake that holds them."""
