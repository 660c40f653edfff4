"""Queue disciplines under bufferbloat, emulated with the real Linux code in virtual time.

`emulation.model` holds the nouns, `emulation.config` reads experiment files into them,
`emulation.runs` executes them, and the command `emulate` is the way in.
"""
