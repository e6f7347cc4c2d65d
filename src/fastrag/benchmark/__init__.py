"""The benchmark room."""
