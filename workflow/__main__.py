"""`python -m workflow PROFILE OPTION...`: what `./reproduce-all` calls (`workflow.reproduce`).

A module of its own, since processes of multiprocessing import again what their parent was started
by, unless it has this name.
"""

import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NoReturn

from qdisclab.emulation.errors import INTERRUPTED
from workflow import reproduce


def exit_with(work: Callable[[], int]) -> NoReturn:
    """End this process with the status that `work` returns, whatever it raises.

    Snakemake's alarms, threads that sleep for up to an hour, would be waited for otherwise.
    """
    status = 1
    try:
        status = work()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError):  # of a terminal that is closed
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    exit_with(partial(reproduce.main, sys.argv[1:]))
