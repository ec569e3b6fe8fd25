"""The policies of each kind of job, a file a kind."""
