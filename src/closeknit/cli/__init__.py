"""The command line: every command reads files or a running cluster, asks or changes it, and shows the answer."""
