"""What figures show, as data, and how that becomes a picture."""
