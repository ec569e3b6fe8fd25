"""The command line: every command reads files, asks the engine, and shows the answer."""
