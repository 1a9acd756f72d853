"""What a crawler imports."""
