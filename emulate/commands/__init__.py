"""The subcommands of `emulate`, one module each.

The second paragraph of a module's docstring is what `--help` says of the command;
`add_options(parser)` adds its options, and `run(args)` does the work and returns the exit status.
`emulate.cli.COMMANDS` names it.
"""
