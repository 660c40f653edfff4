"""Queue disciplines under bufferbloat, emulated with the real Linux code in virtual time.

`units` and `model` hold the nouns, `config` reads the experiment files into them, and the command
`emulate` (`cli`, `commands`) runs them.
"""
