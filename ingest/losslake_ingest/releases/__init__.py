"""Changes of what is stored already: withdraw, move, compact and rewrite it, each in a release of its own."""
