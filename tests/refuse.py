"""Start a command for which system calls fail: `refuse.py CALL... -- COMMAND...`.

As where user namespaces are switched off for users.
"""

import ctypes
import os
import struct
import sys

#: Numbers on x86-64.
CALLS = {"unshare": 272, "setns": 308, "landlock_create_ruleset": 444}

_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06  # linux/bpf_common.h
_ALLOW, _EPERM = 0x7FFF0000, 0x00050001  # linux/seccomp.h
_SET_SECCOMP, _FILTER, _NO_NEW_PRIVS = 22, 2, 38  # linux/prctl.h


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def refuse(*names: str) -> None:
    """Let these calls of this process and its children fail with EPERM from now on."""
    rows = [(_LOAD, 0, 0, 0)]
    rows += [(_JUMP_IF_EQUAL, len(names) - at, 0, CALLS[name]) for at, name in enumerate(names)]
    rows += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _EPERM)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    program = _Program(len(rows), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0


if __name__ == "__main__":
    split = sys.argv.index("--")
    refuse(*sys.argv[1:split])
    os.execvp(sys.argv[split + 1], sys.argv[split + 1 :])
