"""Kernels of notebooks that are processes of `workflow.steps`, for papermill."""

import os
import uuid
from pathlib import Path
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from workflow.steps import ADDRESS, NotebookKernel


class Provisioner(LocalProvisioner):
    """Starts a kernel in place of a new Python."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Start `cmd`, `python -m ipykernel_launcher OPTION...`, and return how to reach it."""
        options = cmd[cmd.index("ipykernel_launcher") + 1 :]
        folder, environment = kwargs.get("cwd") or Path.cwd(), kwargs.get("env") or os.environ
        process: Any = NotebookKernel(options, str(folder), environment)
        self.process, self.pid, self.pgid = process, process.pid, None
        return self.connection_info


class Manager(AsyncKernelManager):
    """A manager of one kernel."""

    def __init__(self, **options: Any) -> None:
        name = uuid.uuid4().hex
        # Sockets beside the server's: of ports two kernels that start at once may choose the same.
        place = Path(os.environ[ADDRESS]).with_name(f"{name}.json")
        super().__init__(transport="ipc", connection_file=str(place), **options)
        self.provisioner = Provisioner(kernel_id=name, kernel_spec=self.kernel_spec, parent=self)
