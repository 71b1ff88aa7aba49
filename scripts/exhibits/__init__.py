"""What the pages of papers show: figures with captions, and claims with verdicts."""
