"""The engine: where should these pods go? One pure call, `place`, on a snapshot."""
