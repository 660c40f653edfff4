"""Reading back qdiscs of the user's own, for which `tc` may have no plugin, or a wrong one."""

import re

from rig import Failure

#: What iproute2 prints for the options of a kind that it does not know (tc/tc_qdisc.c).
_UNKNOWN = re.compile(r"\[Unknown qdisc, optlen=\d+\] ?")


def tolerant(parse):
    """Return a function that parses what `tc -j` prints by `parse`, without unknown options.

    It raises `Failure` with the kind whose plugin prints no JSON.
    """

    def parsed(text):
        text = _UNKNOWN.sub("", text)
        try:
            return parse(text)
        except ValueError as error:
            kinds = re.findall(r'"kind":"([^"]*)"', text[: getattr(error, "pos", None)])
            kind, line = kinds[-1] if kinds else "?", text[max(0, error.pos - 30) :][:60]
            what = f"tc shows no JSON for the options of the qdisc '{kind}': …{line}…"
            todo = f"have print_qopt of q_{kind}.c write them as docs/evaluate-your-qdisc.md says"
            raise Failure("rig", f"{what}; {todo}") from None

    return parsed
