"""The subcommands of `emulate`, one module each.

A module has `add_options(parser)`, which describes the command, and `run(args)`, which does the
work and returns the exit status. `emulate.cli.COMMANDS` names it.
"""
