"""The launcher gives each job a process in the user's own surroundings, and says why where it can't."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from jupysched.runner import environment
from jupysched.runner.warm import Want
from tests.runner.node import ROOT, Node
from tests.waiting import eventually

pytestmark = pytest.mark.leaky


def test_a_job_has_the_kernels_surroundings_and_its_own_gpus(node: Node) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": "/tmp",
        "TAG": "run 1 = ü",
        "CUDA_VISIBLE_DEVICES": "0,1,2",
        "JPY_PARENT_PID": "1",
    }
    cell = """
import os, sys
here = dict(os.environ)
print(os.getcwd(), oct(os.umask(0)), sys.path[:2], sys.argv)
affinity, cpus = len(os.sched_getaffinity(0)), os.cpu_count()
"""
    job = node.job(cell, env=env, sys_path=["/first", *sys.path], umask=0o027, argv=["a", "b"])
    job.start(env={"CUDA_VISIBLE_DEVICES": "GPU-7", "JUPYSCHED_JOB": "12"})
    job.follow()
    assert job.stdout == f"{node.work} 0o27 ['/first', {sys.path[0]!r}] ['a', 'b']\n"
    names = job.landed()
    assert names["here"] == {
        "PATH": os.environ["PATH"], "HOME": "/tmp", "TAG": "run 1 = ü", "CUDA_VISIBLE_DEVICES": "GPU-7", "JUPYSCHED_JOB": "12",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID", "PYTORCH_NVML_BASED_CUDA_CHECK": "1", "MPLBACKEND": environment.INLINE_BACKEND,
        "JUPYSCHED_SPOOL": str(job.path()),
    }  # fmt: skip
    assert names["affinity"] == names["cpus"]


def test_no_gpu_is_an_empty_list_not_all_of_them(node: Node) -> None:
    job = node.job("import os\nprint(repr(os.environ['CUDA_VISIBLE_DEVICES']))")
    job.start(env={"CUDA_VISIBLE_DEVICES": ""})
    job.follow()
    assert job.stdout == "''\n"


def test_the_users_thread_counts_are_there_before_numpy_is(own_node: Node) -> None:
    cell = "import os, numpy\nprint(os.environ['OMP_NUM_THREADS'], 'MKL_NUM_THREADS' in os.environ)"
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    env.pop("MKL_NUM_THREADS", None)
    own_node.ask(op="warm", launch=launch_of(own_node, preload=["numpy"]))
    eventually(lambda: any(z["ready"] for z in own_node.ask(op="ping")["zygotes"]))
    assert own_node.run(cell, env=env).stdout == "1 False\n"
    # The zygote with numpy in it would have been too late for the variable.
    eventually(lambda: sorted(z["preload"] for z in own_node.ask(op="ping")["zygotes"]) == [[], ["numpy"]])


def test_jobs_do_not_draw_the_same_random_numbers(own_node: Node) -> None:
    own_node.ask(op="warm", launch=launch_of(own_node, preload=["numpy"]))
    eventually(lambda: any(z["ready"] and z["preload"] == ["numpy"] for z in own_node.ask(op="ping")["zygotes"]))
    cell = "import numpy.random\nx = float(numpy.random.rand())\nprint(x)"
    assert len({own_node.run(cell, preload=["numpy"]).stdout for _ in range(3)}) == 3


def launch_of(node: Node, **launch: object) -> dict[str, object]:
    """Return what launch.json would say."""
    import json

    found: dict[str, object] = json.loads((node.job("pass", **launch).directory / "launch.json").read_text())
    return found


def test_a_job_takes_the_light_zygote_while_the_one_it_wants_is_made(own_node: Node) -> None:
    own_node.run("pass")
    job = own_node.run("import sys\nprint('numpy' in sys.modules)", preload=["numpy", "not_a_module", "os"])
    assert job.stdout == "False\n"
    eventually(lambda: [z["preload"] for z in own_node.ask(op="ping")["zygotes"] if z["ready"]] == [[], ["numpy"]])
    again = own_node.run("import sys\nprint('numpy' in sys.modules)", preload=["numpy"])
    assert again.stdout == "True\n"
    assert own_node.run("import sys\nprint('numpy' in sys.modules)").stdout == "False\n"


def test_an_interpreter_that_cannot_be_run_is_named(own_node: Node) -> None:
    for executable, why in (("/nowhere/python", "No such file or directory"), ("/etc/passwd", "Permission denied")):
        answer = own_node.job("pass", executable=executable).start()
        assert answer["ok"] is False
        assert answer["error"].startswith(f"cannot run {executable} as ")
        assert why in answer["error"]


def test_an_interpreter_that_is_none_is_named(own_node: Node) -> None:
    answer = own_node.job("pass", executable="/bin/false").start()
    assert answer["ok"] is False
    assert answer["error"].startswith("cannot run jobs with /bin/false: it ended with code 1")


def test_a_job_without_a_description_is_refused(node: Node) -> None:
    job = node.job("pass")
    (job.directory / "launch.json").unlink()
    assert "launch.json" in job.start()["error"]


def test_nonsense_is_answered_not_obeyed(node: Node) -> None:
    for request in ({"op": "dance"}, {}, {"op": "start"}):
        assert node.ask(**request)["ok"] is False
    assert node.ask(op="ping")["ok"] is True


def test_a_folder_that_cannot_be_entered_is_noted(node: Node) -> None:
    job = node.run("print('here')", cwd="/nowhere")
    assert job.stdout == "here\n"
    assert job.end["notes"] == ["The notebook's folder /nowhere cannot be entered (No such file or directory)."]


def test_a_second_launcher_in_the_same_folder_leaves(node: Node) -> None:
    argv = [sys.executable, "-m", "jupysched.runner.launcher", "--run-dir", str(node.run_dir)]
    assert subprocess.run(argv, cwd=ROOT, timeout=30, check=False).returncode == 0
    assert node.ask(op="ping")["pid"] == node.launcher.pid


def test_quit_ends_the_zygotes_and_leaves_jobs_alone(own_node: Node) -> None:
    job = own_node.job("print('ready')\ninput()\nprint('end')", allow_stdin=True)
    job.start()
    job.read_until('"id": 1').close()
    zygotes = [z["pid"] for z in own_node.ask(op="ping")["zygotes"]]
    own_node.ask(op="quit")
    assert own_node.launcher.wait(10) == 0
    own_node.forget()
    eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in zygotes))
    job.tell(op="input", id=1, value="")
    job.follow()
    assert job.stdout == "ready\nend\n"


def test_orders_on_one_connection_are_answered_with_their_ids(own_node: Node) -> None:
    jobs = [own_node.job(f"print({n})") for n in range(4)]
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(own_node.run_dir / "launcher.sock"))
        for n, job in enumerate(jobs):
            connection.sendall(f'{{"op":"start","id":{n},"directory":"{job.directory}","attempt":1}}\n'.encode())
        lines = connection.makefile()
        import json

        answers = [json.loads(lines.readline()) for _ in jobs]
    assert sorted(answer["id"] for answer in answers) == [0, 1, 2, 3]
    assert {answer["answer"] for answer in answers} == {"started"}
    assert [job.follow()[0].payload for job in jobs] == [b"0\n", b"1\n", b"2\n", b"3\n"]


@pytest.mark.parametrize(
    ("env", "light", "torch"),
    [
        ({"ANY": "1"}, True, True), ({"OMP_NUM_THREADS": "1"}, True, False), ({"PYTORCH_ALLOC_CONF": "x"}, True, False),
        ({"MPLCONFIGDIR": "/x"}, True, True), ({"LD_LIBRARY_PATH": "/x"}, False, False), ({"PYTHONPATH": "/x"}, False, False),
    ],
)  # fmt: skip
def test_a_zygote_serves_what_agrees_on_all_that_acted_when_it_was_made(
    env: dict[str, str], *, light: bool, torch: bool
) -> None:
    plain = {"executable": "python", "prefix": "/usr", "env": {"PATH": "/bin"}, "preload": ["torch", "mine"]}
    made, wanted = Want.of(plain), Want.of({**plain, "env": {"PATH": "/bin", **env}})
    assert made.preload == {"torch"}
    assert (wanted.may_use(made.light()), wanted.may_use(made)) == (light, torch)
    assert not Want.of({**plain, "executable": "other"}).may_use(made)
