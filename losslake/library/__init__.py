"""The library: lakes and services as objects with a method for each question."""
