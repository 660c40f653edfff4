"""Archives of kernels and the guest's files, which `emulation.host.bundle` of qdisc-lab unpacks."""
