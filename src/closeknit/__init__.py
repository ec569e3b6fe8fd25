"""Closeknit places the pods of a distributed job close together, and keeps them so."""

__version__ = "0.1.0"
