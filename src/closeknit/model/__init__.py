"""The immutable values that every other package uses. No I/O, no clock, no long-lived numpy state."""
