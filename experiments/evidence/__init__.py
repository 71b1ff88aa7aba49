"""What stored runs are evidence for: whether a mean can be trusted, and which policies beat which."""
