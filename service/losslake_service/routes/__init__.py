"""REST: parameters in, answers out, in any format, by whatever way HTTP has of saying so."""
