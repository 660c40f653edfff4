"""The subcommands of `emulate`, one module each.

A module has `add_parser(subparsers)`, which adds its parser, and `run(args)`, which does the work
and returns the exit status. `emulate.cli.COMMANDS` names it.
"""
