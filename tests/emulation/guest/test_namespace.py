"""Tests of emulation.guest.namespace at the loopback device, which every machine has."""

from pathlib import Path

import namespace
import pytest


def test_the_length_of_a_queue_is_the_kernels() -> None:
    told = Path("/sys/class/net/lo/tx_queue_len").read_text()
    assert namespace.txqueuelen("lo") == int(told)


def test_offloads_are_named_and_an_interface_that_is_not_there_is_an_error() -> None:
    assert set(namespace.offloads_on("lo")) <= set(namespace.OFFLOADS)
    with pytest.raises(OSError, match="No such device"):
        namespace.offloads_on("none")


def test_a_sysctl_that_is_not_there_is_not_created() -> None:
    with pytest.raises(FileNotFoundError):
        namespace.set_sysctl("net.ipv4.no_such_thing", "1")
    with pytest.raises(FileNotFoundError):
        namespace.set_sysctl("net.ipv4.conf.none/7.rp_filter", "1")
