"""Shares of clients, in bounded memory: amounts per time, and places for expensive work."""
