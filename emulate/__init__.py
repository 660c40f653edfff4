"""The command line: `emulate`."""
