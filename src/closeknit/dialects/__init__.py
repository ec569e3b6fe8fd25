"""Wire formats: what the objects of others look like, and how they become our values. Knows only the model."""
