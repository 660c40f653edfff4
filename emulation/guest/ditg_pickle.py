"""XML-RPC clients can be pickled: what Python imports at its start, as `sitecustomize`."""

import copyreg


def _again(host, handler):
    from xmlrpc.client import ServerProxy

    return ServerProxy(f"http://{host}{handler}", allow_none=True)


def _reduce(proxy):
    state = proxy.__dict__
    return _again, (state["_ServerProxy__host"], state["_ServerProxy__handler"])


def _teach():
    from xmlrpc.client import ServerProxy

    copyreg.pickle(ServerProxy, _reduce)


_teach()
