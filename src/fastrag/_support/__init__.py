"""Small helpers every room may use; nothing here is public."""
