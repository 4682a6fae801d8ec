"""Which cluster this machine calls for: dask-cuda where NVML finds GPUs, else CPU slots. Names concrete adapters."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jupysched import variables
from jupysched.adapters.local_cluster import LocalCluster
from jupysched.adapters.nvml_probe import NvmlProbe
from jupysched.core.errors import ClusterError
from jupysched.core.resources import GpuId
from jupysched.daemon.loop import Loop
from jupysched.daemon.sampling import Sampling, SlotSampling, Take
from jupysched.daemon.settings import Settings
from jupysched.ports import Cluster, GpuSample


class ServerPartMissing(ClusterError):
    """GPUs were found, but the part of jupysched that drives them is not installed."""

    code = "server_part_missing"
    hint = "Install it (`pip install 'jupysched[server]'`), or set JUPYSCHED_CPU_SLOTS=N to use CPU slots."


@dataclass(slots=True)
class Parts:
    """The cluster, and the sampling of its GPUs or CPU slots."""

    cluster: Cluster
    notices: list[str] = field(default_factory=list)
    probe: NvmlProbe | None = None
    sampling: Sampling | SlotSampling | None = None

    def latest(self) -> Mapping[GpuId, GpuSample]:
        """The newest reading of each GPU, and of each CPU slot that is held."""
        return self.sampling.latest() if self.sampling is not None else {}

    def start_sampling(self, loop: Loop, take: Take, sampled: Callable[[], None]) -> None:
        """Once a second: of GPUs always, of CPU slots while a job holds one."""
        if self.probe is not None:
            self.sampling = Sampling(probe=self.probe, loop=loop, take=take, sampled=sampled)
        else:
            self.sampling = SlotSampling(loop=loop, take=take, sampled=sampled)
        self.sampling.start()

    def changed(self) -> None:
        """Jobs began or ended to hold something: is there anything to read?"""
        if isinstance(self.sampling, SlotSampling):
            self.sampling.start()

    async def close(self) -> None:
        """Let go; attempts go on."""
        if self.sampling is not None:
            self.sampling.close()
        await self.cluster.close()


def make_parts(settings: Settings, home: Path) -> Parts:
    """Raises ServerPartMissing where there are GPUs and no dask-cuda, BadRequest if JUPYSCHED_CPU_SLOTS is no number."""
    run_dir = home / "run"
    run_dir.mkdir(mode=0o700, exist_ok=True)
    named = variables.whole_number("JUPYSCHED_CPU_SLOTS")
    slots = settings.cpu_slots if settings.cpu_slots is not None else named
    if slots is not None:
        return Parts(cluster=LocalCluster(str(run_dir), slots=slots))
    probe = NvmlProbe(node=socket.gethostname())
    gpus = probe.inventory()
    if not gpus:
        return Parts(cluster=LocalCluster(str(run_dir)), notices=[probe.problem] if probe.problem else [])
    try:
        from jupysched.adapters.dask_cluster import DaskCluster
    except ImportError as error:
        raise ServerPartMissing(f"{len(gpus)} GPUs were found, and dask-cuda cannot be imported: {error}.") from error
    return Parts(cluster=DaskCluster(str(run_dir), probe=probe), probe=probe)
