"""A sample data centre and jobs for it: small enough to read, large enough to be crowded."""
