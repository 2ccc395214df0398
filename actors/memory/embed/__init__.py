"""Embedders: what turns a text into a vector, which one is in force, and how it is loaded without blocking."""
