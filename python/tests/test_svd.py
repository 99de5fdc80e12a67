"""svd and load, against numpy.linalg and the command line."""

import os
import pickle
import stat
import subprocess
import sys

import numpy as np
import pytest

import jmpi
from conftest import EPSILON, judge, same_values


def command_line(folder, A, *flags):
    """The results of the program itself."""
    np.save(folder / "a.npy", A)
    subprocess.run([os.environ["JMPI"], "svd", str(folder / "a.npy"), "-o", str(folder / "a.svd"), "--quiet",
                    *flags], check=True, timeout=300)
    return {name: np.load(folder / "a.svd" / f"{name}.npy") for name in "SUV"}


def test_as_numpy_and_as_the_command_line(random, tmp_path):
    A = random.standard_normal((2000, 1500))
    result = jmpi.svd(A)
    same_values(A, result.S)
    judge(A, result)
    want = command_line(tmp_path, A)
    U, S, Vh = result
    assert np.array_equal(U, want["U"]) and np.array_equal(S, want["S"]) and np.array_equal(Vh, want["V"].T)
    assert result.info["converged"] and result.folder is None


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks(random, tmp_path, ranks):
    A = random.standard_normal((180, 130))
    result = jmpi.svd(A, ranks=ranks, launcher="mpirun")
    assert result.info["ranks"] == ranks
    judge(A, result)
    # One rank with as many devices has the same bits.
    want = command_line(tmp_path, A, f"--devices-per-rank={ranks}")
    assert np.array_equal(result.U, want["U"]) and np.array_equal(result.Vh.T, want["V"])


def layouts():
    x = np.random.default_rng(2).standard_normal((70, 40)) * 100
    yield "float32", x.astype(np.float32)
    yield "float16", x.astype(np.float16)
    yield "big endian", x.astype(">f8")
    yield "int64", x.astype(np.int64)
    yield "uint8", x.astype(np.int64).astype(np.uint8)
    yield "bool", x > 0
    yield "Fortran order", np.asfortranarray(x)
    yield "every other", x[::2, ::3]
    yield "reversed", x[::-1, ::-1]
    yield "wide", x.T
    yield "wide and C order", np.ascontiguousarray(x.T)
    yield "broadcast", np.broadcast_to(x[0], (30, 40))
    yield "list", x[:5].tolist()
    yield "one", x[:1, :1]
    yield "row", x[:1]
    yield "column", x[:, :1]
    yield "no rows", x[:0]
    yield "no columns", x[:, :0]
    yield "nothing", x[:0, :0]


@pytest.mark.parametrize("A", [pytest.param(A, id=name) for name, A in layouts()])
def test_layouts(A):
    result = jmpi.svd(A)
    same_values(A, result.S)
    judge(A, result)


def test_a_part(random):
    A = random.standard_normal((60, 90))
    U, S, Vh = whole = jmpi.svd(A)
    for options, count in [(dict(k=7), 7), (dict(k=1000), 60), (dict(rtol=0.5), int(np.sum(S > 0.5 * S[0]))),
                           (dict(k=3, rtol=0.5), 3)]:
        some = jmpi.svd(A, check=True, **options)
        assert some.U.shape == (60, count) and some.Vh.shape == (count, 90)
        assert np.array_equal(some.S, S[:count])
        cut = np.linalg.norm(A - some.U * some.S @ some.Vh)
        assert abs(cut - np.linalg.norm(S[count:])) < 10 * np.linalg.norm(A) * 90 * EPSILON
        if count < 60:
            assert some.info["cut"]["of"] == 60 and np.isclose(some.info["cut"]["norm"], cut)
        else:
            assert some.info["cut"] is None
    assert whole.info["cut"] is None


@pytest.mark.parametrize("vectors", ["u", "v", "none"])
def test_vectors(random, vectors):
    A = random.standard_normal((30, 20))
    result = jmpi.svd(A, vectors=vectors)
    assert (result.U is not None) == (vectors == "u") and (result.Vh is not None) == (vectors == "v")
    assert np.array_equal(result.S, jmpi.svd(A).S)


def test_files(random, tmp_path):
    A = random.standard_normal((30, 20))
    np.save(tmp_path / "a.npy", A)
    result = jmpi.svd(tmp_path / "a.npy", output=tmp_path / "a.svd", check=True)
    judge(A, result)
    assert result.folder == str(tmp_path / "a.svd")
    again = jmpi.load(tmp_path / "a.svd")
    assert all(np.array_equal(x, y) for x, y in zip(result, again))
    with pytest.raises(jmpi.BadInput):  # what is there is not replaced
        jmpi.svd(A, output=tmp_path / "a.svd")
    jmpi.svd(2 * A, output=tmp_path / "a.svd", force=True)
    assert np.array_equal(jmpi.load(tmp_path / "a.svd").S, 2 * again.S)
    # What was mapped is still the old file.
    judge(A, again)


def test_hdf5(random, tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py")
    A = random.standard_normal((30, 20))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x/A"] = A
    result = jmpi.svd(f"{tmp_path}/a.h5:/x/A", output=tmp_path / "a.svd", format="h5", check=True)
    judge(A, result)
    assert sorted(p.name for p in (tmp_path / "a.svd").iterdir()) == ["info.json", "results.h5"]
    with h5py.File(tmp_path / "a.svd" / "results.h5") as file:
        assert np.array_equal(file["U"][:].T, result.U) and np.array_equal(file["V"][:], result.Vh)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(jmpi.BadInput, match="needs h5py"):
        jmpi.load(tmp_path / "a.svd")


def test_arrays_can_be_changed_and_the_files_cannot(random, tmp_path):
    A = random.standard_normal((30, 20))
    result = jmpi.svd(A, output=tmp_path / "a.svd")
    before = result.S.copy()
    result.S[:] = 0
    result.U *= 2
    again = jmpi.load(tmp_path / "a.svd")
    assert np.array_equal(again.S, before)
    judge(A, again)


def test_files_go_and_arrays_stay(random, scratch):
    A = random.standard_normal((300, 200))
    U, S, Vh = jmpi.svd(A)
    assert not list(scratch.iterdir())
    judge(A, (U, S, Vh))
    first = U[:, :1]
    del U
    assert np.isclose(np.linalg.norm(first), 1)


def test_memory_mapped(random, tmp_path):
    """No array is read into memory: it is a page of the file."""
    result = jmpi.svd(random.standard_normal((300, 200)), output=tmp_path / "a.svd")
    with open("/proc/self/maps", encoding="utf-8") as maps:
        text = maps.read()
    assert all(f"{tmp_path}/a.svd/{name}.npy" in text for name in "SUV")
    assert result.U.flags.f_contiguous and not result.U.flags.owndata


def test_pickle(random):
    result = jmpi.svd(random.standard_normal((9, 5)))
    again = pickle.loads(pickle.dumps(result))
    assert all(np.array_equal(x, y) for x, y in zip(result, again)) and again.info == result.info


def test_progress(random, capfd):
    A = random.standard_normal((60, 50))
    lines = []
    jmpi.svd(A, progress=lines.append)
    assert any("sweep=1" in line for line in lines) and not any("\n" in line for line in lines)
    jmpi.svd(A)
    assert capfd.readouterr() == ("", "")
    jmpi.svd(A, progress=True)
    out, err = capfd.readouterr()
    assert out == "" and "sweep=1" in err


def test_srun(random, tmp_path, monkeypatch):
    """The command line for srun, by one that starts mpirun."""
    srun = tmp_path / "srun"
    srun.write_text("""#!/bin/sh
[ "$1 $2 $3" = "--mpi=pmix -n 2" ] || exit 9
shift 3
exec mpirun -np 2 "$@"
""")
    srun.chmod(srun.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    A = random.standard_normal((40, 30))
    result = jmpi.svd(A, ranks=2, launcher="srun")
    assert result.info["ranks"] == 2
    judge(A, result)
    assert sorted(os.listdir(tmp_path)) == ["scratch", "srun"]  # where the files were, since hosts share it


def test_hostfile(random, tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("localhost slots=2\n")
    A = random.standard_normal((40, 30))
    result = jmpi.svd(A, hostfile=hosts, scratch=tmp_path / "scratch")
    assert result.info["ranks"] == 2
    judge(A, result)


def test_inside_a_rank(random, monkeypatch):
    """A Python program that mpirun has started itself."""
    for name, value in [("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "2"), ("PMIX_RANK", "2")]:
        monkeypatch.setenv(name, value)
    A = random.standard_normal((40, 30))
    judge(A, jmpi.svd(A))


def test_version():
    version = subprocess.check_output([os.environ["JMPI"], "version"], text=True)
    assert jmpi.__version__ in ("0", version.split()[1])
