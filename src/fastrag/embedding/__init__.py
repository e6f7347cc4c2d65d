"""The embedding room."""
