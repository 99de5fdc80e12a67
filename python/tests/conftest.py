"""What the tests share: the program, a place for temporary files that is empty after each test, and a look at
the processes."""

import os
import pathlib
import tempfile
import time

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EPSILON = 2.0**-52

os.environ.setdefault("JMPI", str(ROOT / "bin" / "jmpi"))
os.environ["JMPI_BACKEND"] = "cpu"  # the same tests where there are GPUs
# Open MPI 4 and 5: run as root, start more ranks than there are cores.
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                  OMPI_MCA_rmaps_base_oversubscribe="1",
                  PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe")


def processes(word):
    """The processes whose command line has a word, by their number."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = pathlib.Path("/proc", name, "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if any(word in part for part in line):
            found[int(name)] = line
    return found


def wait_for(what, seconds=30):
    """Waits until what() is true, and returns it."""
    end = time.monotonic() + seconds
    while True:
        value = what()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.02)


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch):
    """A folder for temporary files. After the test it must be empty, and no process may use it."""
    path = tmp_path / "scratch"
    path.mkdir()
    monkeypatch.setenv("TMPDIR", str(path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield path
    assert wait_for(lambda: not processes(str(path)), 5), processes(str(path))
    left = [p for p in path.iterdir() if p.name.startswith("jmpi-")]
    assert not left


@pytest.fixture
def random():
    return np.random.default_rng(1)


def judge(A, result):
    """The rows of `jmpi check`: residual, orthU, orthV, each below 10."""
    U, S, Vh = (np.asarray(x) for x in result[:3])
    A = np.asarray(A, float)
    m, n = A.shape
    k = min(m, n)
    assert U.shape == (m, k) and S.shape == (k,) and Vh.shape == (k, n)
    assert np.all(S[:-1] >= S[1:]) and np.all(S >= 0)
    if k == 0:
        return
    residual = np.linalg.norm(A - U * S @ Vh)
    assert residual <= 10 * np.linalg.norm(A) * max(m, n) * EPSILON
    assert np.linalg.norm(U.T @ U - np.eye(k)) < 10 * k * EPSILON
    assert np.linalg.norm(Vh @ Vh.T - np.eye(k)) < 10 * k * EPSILON


def same_values(A, S):
    """S is that of numpy, to n·ε·σ₁."""
    want = np.linalg.svd(np.asarray(A, float), compute_uv=False)
    assert S.shape == want.shape
    assert np.max(np.abs(S - want), initial=0) <= len(S) * EPSILON * np.max(want, initial=0)


