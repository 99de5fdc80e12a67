"""What goes wrong is an exception, and leaves no process and no file (the fixture scratch looks)."""

import os
import pathlib
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import jmpi
from conftest import processes, wait_for

LARGE = 1500  # of a matrix that takes long enough


@pytest.mark.parametrize("A, options, kind, code, text", [
    (np.eye(3) * 1j, {}, jmpi.BadInput, 3, "complex numbers"),
    (np.ones(3), {}, jmpi.BadInput, 3, "1 dimensions instead of 2"),
    (np.ones((2, 2, 2)), {}, jmpi.BadInput, 3, "3 dimensions"),
    ([["a", "b"]], {}, jmpi.BadInput, 3, "not supported"),
    (np.eye(3, dtype=object), {}, jmpi.BadInput, 3, "object is not supported"),
    (np.eye(3, dtype=np.longdouble), {}, jmpi.BadInput, 3, "float128 is not supported"),
    ([[1, np.nan], [1, 1]], {}, jmpi.BadInput, 3, "A: NaN at row 1, column 2"),
    ("missing.npy", {}, jmpi.BadInput, 3, "there is no such file"),
    (np.eye(3), dict(k=-1), jmpi.UsageError, 2, "--k -1"),
    (np.eye(3), dict(rtol=2), jmpi.UsageError, 2, "--rtol 2"),
    (np.eye(3), dict(vectors="left"), jmpi.UsageError, 2, "vectors"),
    (np.eye(3), dict(fast=True), jmpi.UsageError, 2, "--fast"),
    (np.eye(3), dict(ranks=0), jmpi.UsageError, 2, "ranks=0"),
    (np.eye(3), dict(launcher=""), jmpi.UsageError, 2, "launcher"),
    (np.eye(3), dict(program="/no/jmpi"), jmpi.Error, 127, "/no/jmpi: there is no such program"),
    (np.eye(3), dict(ranks=2, launcher="mpirun-9"), jmpi.Error, 127, "mpirun-9: there is no such program"),
    (np.eye(3), dict(scratch="/no/folder"), jmpi.BadInput, 3, "/no/folder"),
    (np.eye(3), dict(output="/no/folder/a.svd"), jmpi.BadInput, 3, "/no/folder"),
])
def test_errors(A, options, kind, code, text):
    with pytest.raises(kind) as raised:
        jmpi.svd(A, **options)
    assert type(raised.value) is kind and text in str(raised.value)
    assert raised.value.code == code
    again = pickle.loads(pickle.dumps(raised.value))
    assert type(again) is kind and str(again) == str(raised.value) and again.code == raised.value.code


def test_missing_mpirun(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(jmpi.Error, match="mpirun: there is no such program"):
        jmpi.svd(np.eye(3), ranks=2)
    assert np.array_equal(jmpi.svd(np.eye(3)).S, [1, 1, 1])


def test_a_launcher_that_fails(tmp_path):
    """Its exit code is not one of the program's, whatever it is."""
    launcher = tmp_path / "start"
    launcher.write_text("#!/bin/sh\necho no such queue >&2\nexit 3\n")
    launcher.chmod(0o755)
    with pytest.raises(jmpi.Error, match="exit code 3: no such queue") as raised:
        jmpi.svd(np.eye(3), launcher=[launcher], ranks=2)
    assert type(raised.value) is jmpi.Error and raised.value.code == 3


def test_srun_has_no_hostfile(monkeypatch, tmp_path):
    (tmp_path / "srun").touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(jmpi.UsageError, match="hostfile"):
        jmpi.svd(np.eye(3), launcher="srun", hostfile="hosts")


def test_not_converged(random):
    A = random.standard_normal((60, 50))
    with pytest.raises(jmpi.NotConverged) as raised:
        jmpi.svd(A, max_sweeps=1)
    assert raised.value.code == 4 and not raised.value.result.info["converged"]
    U, S, Vh = raised.value.result
    assert np.allclose(U * S @ Vh, A)  # rotations keep that, also where the columns are not orthogonal yet


def test_load_without_results(tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(jmpi.BadInput, match="no results"):
            jmpi.load(folder)
    (tmp_path / "info.json").write_text("{}")
    (tmp_path / "S.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(jmpi.BadInput, match="no results"):
        jmpi.load(tmp_path)


def test_full_disk(random, tmp_path):
    """There is room for the matrix and not for the results, and then not for the matrix."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)],
                                           check=False).returncode != 0:
        pytest.skip("only root may mount a small file system")
    try:
        with pytest.raises(jmpi.BadInput, match="the results need"):
            jmpi.svd(random.standard_normal((500, 400)), scratch=disk)
        assert not list(disk.iterdir())
        with pytest.raises(jmpi.BadInput, match="A cannot be written"):
            jmpi.svd(np.zeros((1000, 1000)), scratch=disk)
        assert not list(disk.iterdir())
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_progress_that_raises(random):
    """It ends the run at once."""
    def stop(line):
        if "sweep=1" in line:
            raise RuntimeError("enough")
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="enough"):
        jmpi.svd(random.standard_normal((LARGE, LARGE)), ranks=2, progress=stop)
    assert time.monotonic() - began < 60


def python(scratch, ranks):
    """A Python program that decomposes a large matrix, once the ranks are at work."""
    code = f"""
import numpy, jmpi
A = numpy.random.default_rng(1).standard_normal(({LARGE}, {LARGE}))
try:
    jmpi.svd(A, ranks={ranks}, progress=True, max_sweeps=1000, variant="block")
except KeyboardInterrupt:
    print("interrupted", flush=True)
except jmpi.Error as problem:
    print(type(problem).__name__, problem.code, problem, flush=True)
"""
    path = os.pathsep.join([str(pathlib.Path(jmpi.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env=dict(os.environ, PYTHONPATH=path))
    for line in process.stderr:
        if "sweep=1" in line:
            break
    ours = {number: line for number, line in processes(str(scratch)).items()
            if not any(word.endswith("_guard.py") for word in line)}
    workers = [number for number, line in ours.items() if line[0].endswith("jmpi")]
    assert len(workers) == ranks, ours
    return process, workers, [number for number in ours if number not in workers]


def ended(process):
    """What the Python program has printed, at its end."""
    out, _ = process.communicate(timeout=60)
    return out


@pytest.mark.parametrize("ranks", [1, 2])
def test_interrupt(scratch, ranks):
    process, _, _ = python(scratch, ranks)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert ended(process) == "interrupted\n"
    assert time.monotonic() - began < 30
    assert not processes(str(scratch)) and not list(scratch.glob("jmpi-*"))


def test_python_is_killed_while_it_writes(scratch):
    """There is no run yet, and a file."""
    code = """
import os, signal, numpy, jmpi
save = numpy.save
def die(path, x):
    save(path, x)
    os.kill(os.getpid(), signal.SIGKILL)
numpy.save = die
jmpi.svd(numpy.eye(300))
"""
    path = os.pathsep.join([str(pathlib.Path(jmpi.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run([sys.executable, "-c", code], env=dict(os.environ, PYTHONPATH=path), timeout=60,
                         check=False)
    assert run.returncode == -signal.SIGKILL
    assert wait_for(lambda: not processes(str(scratch)) and not list(scratch.glob("jmpi-*")))


def test_the_guard_is_killed(scratch, random):
    """It is told, and nothing is left but what runs."""
    def stop(_):  # at the first line
        for number, words in processes(str(scratch)).items():
            if any(word.endswith("_guard.py") for word in words):
                os.kill(number, signal.SIGKILL)
    with pytest.raises(jmpi.Error, match="guards the run"):
        jmpi.svd(random.standard_normal((600, 600)), progress=stop)


@pytest.mark.parametrize("ranks", [1, 2])
def test_python_is_killed(scratch, ranks):
    process, _, _ = python(scratch, ranks)
    process.kill()
    ended(process)
    assert wait_for(lambda: not processes(str(scratch)) and not list(scratch.glob("jmpi-*")))


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_rank_is_killed(scratch, ranks):
    process, workers, _ = python(scratch, ranks)
    os.kill(workers[-1], signal.SIGKILL)
    assert ended(process).startswith("Error 137 ")
    assert not processes(str(scratch)) and not list(scratch.glob("jmpi-*"))


def test_the_launcher_is_killed(scratch):
    process, _, launchers = python(scratch, 2)
    assert len(launchers) == 1
    os.kill(launchers[0], signal.SIGKILL)
    assert ended(process).startswith("Error 137 ")
    assert not processes(str(scratch)) and not list(scratch.glob("jmpi-*"))


def test_a_rank_gets_a_signal(scratch):
    """The line of the program is the message."""
    process, workers, _ = python(scratch, 2)
    os.kill(workers[0], signal.SIGTERM)
    said = ended(process)
    assert said.startswith("Error 6 ") and "signal" in said
    assert not processes(str(scratch)) and not list(scratch.glob("jmpi-*"))
