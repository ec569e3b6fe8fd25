"""Values: what every other room speaks in. No I/O, no clock, no numpy state that lives long."""
