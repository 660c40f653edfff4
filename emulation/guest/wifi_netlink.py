"""Requests to rtnetlink: to create links with options, to read them and the qdiscs' backlog back.

The guest's `ip` sends no options of a kind of link that it does not know. Messages and attributes
are those of linux/netlink.h, linux/rtnetlink.h and linux/if_link.h.
"""

import os
import socket
import struct
import sys

RTM_NEWLINK, RTM_GETLINK, RTM_GETQDISC = 16, 18, 38
NLM_F_REQUEST, NLM_F_ACK, NLM_F_ECHO = 0x1, 0x4, 0x8
NLM_F_EXCL, NLM_F_CREATE = 0x200, 0x400
NLM_F_CAPPED, NLM_F_ACK_TLVS = 0x100, 0x200
NLMSG_ERROR = 2
NLMSGERR_ATTR_MSG, NLMSGERR_ATTR_OFFS, NLMSGERR_ATTR_POLICY = 1, 2, 4
NL_POLICY_MIN_VALUE_U, NL_POLICY_MAX_VALUE_U = 4, 5
SOL_NETLINK, NETLINK_CAP_ACK, NETLINK_EXT_ACK = 270, 10, 11
NLA_F_NESTED = 0x8000
NLA_TYPE_MASK = 0x3FFF

IFLA_ADDRESS, IFLA_IFNAME, IFLA_LINK, IFLA_LINKINFO, IFLA_NET_NS_FD = 1, 3, 5, 18, 28
IFLA_INFO_KIND, IFLA_INFO_DATA = 1, 2

TC_H_ROOT = 0xFFFFFFFF
TCA_STATS2, TCA_STATS_QUEUE = 7, 3

_HEADER = struct.Struct("=IHHII")  # nlmsghdr
_LINK = struct.Struct("=BxHiII")  # ifinfomsg
_QDISC = struct.Struct("=BxxxiIII")  # tcmsg
_ATTRIBUTE = struct.Struct("=HH")
_ANSWER = 1 << 16
_PATIENCE_S = 1.0


class Refused(Exception):
    """The kernel did not do what was asked for; the text is its own, where it gave one.

    `culprit`: the attribute that is at fault and all behind it, empty where the kernel named none.
    """

    def __init__(self, reason, culprit=b""):
        super().__init__(reason)
        self.culprit = culprit


def attribute(kind, value):
    """One attribute: `value` is bytes, text, a number (u32) or a list of attributes (a nest)."""
    if isinstance(value, list):
        kind, value = kind | NLA_F_NESTED, b"".join(value)
    elif isinstance(value, str):
        value = value.encode() + b"\0"
    elif isinstance(value, int):
        value = struct.pack("=I", value)
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + b"\0" * (-len(value) % 4)


def attributes(data):
    """The attributes in `data`: bytes by type, the last of a type."""
    found, place = {}, 0
    while place + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, place)
        found[kind & NLA_TYPE_MASK] = data[place + _ATTRIBUTE.size : place + length]
        place += length + -length % 4
    return found


def set_link(kind, data, name=None, index=0, link=None, address=None, space=None):
    """Create the link `name` of a `kind` with the options `data`, or change that with `index`.

    `link`: index of the link that it belongs to; `space`: file descriptor of the network namespace
    where it shall be. Raises `Refused`.
    """
    flags = NLM_F_REQUEST | NLM_F_ACK | (0 if index else NLM_F_CREATE | NLM_F_EXCL)
    body = [_LINK.pack(socket.AF_UNSPEC, 0, index, 0, 0)]
    if name is not None:
        body.append(attribute(IFLA_IFNAME, name))
    if link is not None:
        body.append(attribute(IFLA_LINK, link))
    if address is not None:
        body.append(attribute(IFLA_ADDRESS, bytes.fromhex(address.replace(":", ""))))
    if space is not None:
        body.append(attribute(IFLA_NET_NS_FD, space))
    if data is not None:
        info = [attribute(IFLA_INFO_KIND, kind), attribute(IFLA_INFO_DATA, data)]
        body.append(attribute(IFLA_LINKINFO, info))
    _ask(RTM_NEWLINK, flags, b"".join(body))


def link_data(index, kind):
    """The options of the link with `index`, as attributes; raises `Refused` for another kind."""
    body = _LINK.pack(socket.AF_UNSPEC, 0, index, 0, 0)
    answer = _ask(RTM_GETLINK, NLM_F_REQUEST, body)
    info = attributes(attributes(answer[_LINK.size :]).get(IFLA_LINKINFO, b""))
    found = info.get(IFLA_INFO_KIND, b"\0")[:-1].decode()
    if found != kind:
        raise Refused(f"it is a link of type '{found}', not '{kind}'")
    return attributes(info.get(IFLA_INFO_DATA, b""))


def backlog(index):
    """Packets in the root qdisc of the link with `index`."""
    body = _QDISC.pack(socket.AF_UNSPEC, index, 0, TC_H_ROOT, 0)
    answer = _ask(RTM_GETQDISC, NLM_F_REQUEST | NLM_F_ECHO, body)
    statistics = attributes(attributes(answer[_QDISC.size :])[TCA_STATS2])
    return int.from_bytes(statistics[TCA_STATS_QUEUE][:4], sys.byteorder)


def _ask(message, flags, body):
    """Send one request and return the body of the answer, empty where that is only yes."""
    request = _HEADER.pack(_HEADER.size + len(body), message, flags, 1, 0) + body
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as port:
        port.setsockopt(SOL_NETLINK, NETLINK_EXT_ACK, 1)
        port.setsockopt(SOL_NETLINK, NETLINK_CAP_ACK, 1)
        port.settimeout(_PATIENCE_S)
        port.send(request)
        answer = port.recv(_ANSWER)
    length, kind, got, _, _ = _HEADER.unpack_from(answer)
    if kind != NLMSG_ERROR:
        return answer[_HEADER.size : length]
    (error,) = struct.unpack_from("=i", answer, _HEADER.size)
    if error:
        told = {}
        if got & NLM_F_ACK_TLVS:  # after the error and the header of the request
            told = attributes(answer[_HEADER.size + 4 + _HEADER.size : length])
        raise _refused(error, told, request)
    return b""


def _refused(error, told, request):
    """What the kernel said about an error, with the range that it allows where it tells one."""
    reason = told.get(NLMSGERR_ATTR_MSG, b"").rstrip(b"\0").decode() or os.strerror(-error)
    policy = attributes(told.get(NLMSGERR_ATTR_POLICY, b""))
    if NL_POLICY_MAX_VALUE_U in policy:
        low, high = (
            int.from_bytes(policy[one], sys.byteorder)
            for one in (NL_POLICY_MIN_VALUE_U, NL_POLICY_MAX_VALUE_U)
        )
        reason += f", it goes from {low} to {high}"
    offset = int.from_bytes(told.get(NLMSGERR_ATTR_OFFS, b""), sys.byteorder)
    return Refused(reason, request[offset:] if offset else b"")
