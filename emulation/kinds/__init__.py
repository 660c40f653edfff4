"""Kinds of rigs, traffic, probes and qdiscs, a module each."""
