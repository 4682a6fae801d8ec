"""A machine with NVIDIA GPUs that are not there: a real libnvidia-ml.so.1 built from fakenvml.c, and its state in a shared file.

A process that is started with `environ` sees the GPUs; a test changes them while it runs. Knows the layout of the file."""

import ctypes
import mmap
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
MOST_GPUS = MOST_PROCESSES = 16
MOST_MIG_DEVICES, MOST_EVENTS = 7, 64
#: the GPU instance of an error that is the whole card's
WHOLE_CARD = 0xFFFFFFFF


class Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint32), ("sm_util", ctypes.c_uint32), ("used", ctypes.c_uint64)]


class MigDevice(ctypes.Structure):
    _fields_ = [
        ("uuid", ctypes.c_char * 96),
        ("name", ctypes.c_char * 96),
        ("mem_total", ctypes.c_uint64),
        ("mem_used", ctypes.c_uint64),
        ("instance", ctypes.c_uint32),
        ("pad", ctypes.c_uint32),
    ]


class XidEvent(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint32), ("instance", ctypes.c_uint32), ("xid", ctypes.c_uint64)]


class FakeGpu(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_char * size) for name, size in (("name", 96), ("uuid", 96), ("serial", 32), ("busid", 32))),
        *((name, ctypes.c_uint64) for name in ("mem_total", "mem_used", "cpumask")),
        *(
            (name, ctypes.c_uint32)
            for name in (
                "util_gpu",
                "util_mem",
                "temp",
                "fan",
                "power_mw",
                "limit_mw",
                "min_mw",
                "max_mw",
                "numa",
                "lost",
                "nproc",
                "nvlinks",
            )
        ),
        ("procs", Process * MOST_PROCESSES),
        ("ecc", ctypes.c_uint64),
        ("unsupported", ctypes.c_uint32),
        ("delay_ms", ctypes.c_uint32),
        *((name, ctypes.c_uint32) for name in ("pcie_tx_kib", "pcie_rx_kib")),
        *((name, ctypes.c_uint64) for name in ("nvlink_tx_kib", "nvlink_rx_kib")),
        *((name, ctypes.c_uint32) for name in ("pcie_delay_ms", "nmig")),
        ("mig", MigDevice * MOST_MIG_DEVICES),
    ]


class State(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("magic", "version", "n", "cc_major", "cc_minor", "nevents")),
        ("g", FakeGpu * MOST_GPUS),
        ("e", XidEvent * MOST_EVENTS),
    ]


class FakeMachine:
    """Build it, start processes with its `environ`, change its `gpus`, close it."""

    def __init__(self, gpus: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="fakenvml-"))
        for source, library in (("fakenvml.c", "libnvidia-ml.so.1"), ("fakecuda.c", "libcuda.so.1")):
            subprocess.run(
                [
                    "gcc",
                    "-O1",
                    "-w",
                    "-fvisibility=hidden",
                    "-shared",
                    "-fPIC",
                    f"-Wl,-soname,{library}",
                    "-o",
                    self.folder / library,
                    HERE / source,
                    "-ldl",
                ],
                check=True,
            )
        os.environ["FAKE_NVML_N"] = str(gpus)
        try:
            self._make_state()
        finally:
            del os.environ["FAKE_NVML_N"]
        with open(self.folder / "state.bin", "r+b") as file:
            self._map = mmap.mmap(file.fileno(), ctypes.sizeof(State))
        self._built = self._map[:]
        self._state: State | None = State.from_buffer(self._map)

    def _make_state(self) -> None:
        library = ctypes.CDLL(str(self.folder / "libnvidia-ml.so.1"))
        size = library.fake_state_size()
        assert size == ctypes.sizeof(State), "machine.py and fakenvml.c disagree about the layout"
        content = ctypes.create_string_buffer(size)
        library.fake_write_default(content)
        (self.folder / "state.bin").write_bytes(content.raw)

    @property
    def gpus(self) -> list[FakeGpu]:
        """The GPUs, to be read and changed."""
        assert self._state is not None
        return [self._state.g[index] for index in range(self._state.n)]

    def restore(self) -> None:
        """As it was built: every card idle and well, and nothing reported."""
        self._map[:] = self._built

    def uuid(self, index: int) -> str:
        return self.gpus[index].uuid.decode()

    def use(self, index: int, pid: int, used: int) -> None:
        """Let a process hold memory of a GPU."""
        gpu = self.gpus[index]
        gpu.procs[gpu.nproc] = Process(pid=pid, used=used)
        gpu.nproc += 1

    def leave(self, index: int) -> None:
        """Let every process go."""
        self.gpus[index].nproc = 0

    def split(self, index: int, *gib: int) -> list[str]:
        """Turn MIG on: the card's devices, of so much memory each. Returns their UUIDs."""
        gpu = self.gpus[index]
        for number, size in enumerate(gib):
            uuid, name = f"MIG-{index:08x}-fa4e-5000-8000-{number:012x}", f"NVIDIA Fake H100 80GB MIG {size}gb"
            gpu.mig[number] = MigDevice(uuid.encode(), name.encode(), size << 30, 8 << 20, number + 1)
        gpu.nmig = len(gib)
        return [bytes(gpu.mig[number].uuid).decode() for number in range(len(gib))]

    def report(self, index: int, xid: int, *, instance: int = WHOLE_CARD) -> None:
        """Let the driver report an error of this card, or of one GPU instance of it."""
        assert self._state is not None
        self._state.e[self._state.nevents % MOST_EVENTS] = XidEvent(gpu=index, instance=instance, xid=xid)
        self._state.nevents += 1

    @property
    def environ(self) -> dict[str, str]:
        """What a process needs in its environment from its start on."""
        return {"LD_LIBRARY_PATH": str(self.folder), "FAKE_NVML_STATE": str(self.folder / "state.bin")}

    def close(self) -> None:
        # The map goes with the last view of it: a failed test's traceback may still hold one.
        self._state = None
        del self._map
        shutil.rmtree(self.folder, ignore_errors=True)
