"""Kinds: what a rig, a traffic, a probe or a qdisc of one name is, a module each."""
