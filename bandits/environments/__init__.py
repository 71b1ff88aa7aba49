"""What a learner faces: how rewards, losses and values of streams are drawn, and summed at once."""
