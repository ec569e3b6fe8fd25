"""The command line: each command reads files or talks to a running cluster, and prints the answer."""
