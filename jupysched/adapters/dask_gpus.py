"""dask-cuda as we want it: one worker a GPU, no CUDA context in it, no limits, no dashboard, and nobody but us may connect.

Knows dask-cuda and Dask's settings; knows nothing of orders or jobs. Importing it costs a second of CPU."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Any

import dask
from dask_cuda import LocalCUDACluster
from distributed import Status
from distributed.security import Security

from jupysched.adapters.dask_agent import JupyschedAgent

#: What idles at 2.6 CPU-seconds a minute where the defaults idle at 19, and what keeps Dask from second-guessing us.
CONFIG: dict[str, Any] = {
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.worker-ttl": "30s",
    "distributed.scheduler.no-workers-timeout": "30s",
    "distributed.scheduler.idle-timeout": None,
    "distributed.worker.profile.enabled": False,
    "distributed.worker.lifetime.duration": None,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.system-monitor.gil.enabled": False,
    # The probe reads the GPUs, once a second, for all of them; a lost one would fill the workers' logs.
    "distributed.diagnostics.nvml": False,
    "distributed.diagnostics.cudf": False,
    "distributed.deploy.lost-worker-timeout": "30s",
    # Dask opens an HTTP port also without a dashboard, and asks nobody who they are: there is nothing to be had on it.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}


def new_cluster(gpus: Sequence[str], *, run_dir: str, plugin: Any) -> GpuCluster:
    """Return the cluster, to be awaited in the loop it shall live in. Writes: Dask's settings of this process.

    With TLS between its parts: a Dask scheduler does what anybody says who can connect, and on 127.0.0.1 that is every user of
    this machine. The certificate lives in memory and dies with us."""
    dask.config.set(CONFIG)
    return GpuCluster(
        CUDA_VISIBLE_DEVICES=list(gpus),
        # All at once, the first would be ready when the last is: two seconds of CPU each.
        n_workers=min(len(gpus), os.cpu_count() or 1),
        asynchronous=True,
        security=Security.temporary(),
        protocol="tls",
        host="127.0.0.1",
        memory_limit=0,
        device_memory_limit=0,
        dashboard_address=None,
        silence_logs=logging.ERROR,
        scheduler_sync_interval=60,
        # Its folder comes first in our sys.path. By default it is /tmp/dask-scratch-space[-UID], which another user may have made.
        scheduler_kwargs={
            "plugins": [plugin],
            "dashboard": False,
            "dashboard_address": "127.0.0.1:0",
            "local_directory": run_dir,
        },
        local_directory=run_dir,
        agent=JupyschedAgent(run_dir),
    )


class GpuCluster(LocalCUDACluster):  # type: ignore[misc]
    """dask-cuda's cluster with our agent in each worker, and workers that are started again whatever happens."""

    def __init__(self, *args: Any, agent: JupyschedAgent, **kwargs: Any) -> None:
        self._agent_plugin = agent
        super().__init__(*args, **kwargs)

    def new_worker_spec(self) -> dict[str, Any]:
        """One worker's spec, without the CUDA context: it would pin hundreds of MB for nothing, as jobs are processes."""
        specs: dict[str, Any] = super().new_worker_spec()
        for spec in specs.values():
            options = spec["options"]
            options["preload_argv"] = [word for word in options["preload_argv"] if word != "--create-cuda-context"]
            options["plugins"] = {*options["plugins"], self._agent_plugin}
        return specs

    async def grow(self) -> str:
        """Start the workers that are not there yet, a few at a time; return why that failed, or ""."""
        at_once, failure = len(self.worker_spec), ""
        while len(self.worker_spec) < len(self.cuda_visible_devices):
            self.scale(min(len(self.worker_spec) + at_once, len(self.cuda_visible_devices)))
            failure = await self.mend() or failure
        return failure

    async def mend(self) -> str:
        """Start again the workers whose nanny is gone; return why that failed, or ""."""
        for name, nanny in tuple(self.workers.items()):
            if nanny.status in (Status.closed, Status.failed):
                del self.workers[name]
        if set(self.worker_spec) <= set(self.workers):
            return ""
        try:
            await self._correct_state()
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""
