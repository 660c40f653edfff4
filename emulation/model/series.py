"""The series of kernels that runs have, unless a study or the user chooses another."""

#: As `qdisc/KERNEL.toml` has it. Ids of runs do not name it.
DEFAULT_KERNEL = "6.12"
