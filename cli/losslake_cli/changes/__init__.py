"""Commands that change what is stored: withdraw, erase, maintain."""
