"""Octave reads the results by examples/npyread.m, in the lines that the README has."""

import shutil
import subprocess

import numpy as np
import pytest

import jmpi
from conftest import EPSILON, ROOT
from test_readme import blocks, one_line

OCTAVE = shutil.which("octave-cli") or shutil.which("octave")
pytestmark = pytest.mark.skipif(OCTAVE is None, reason="there is no Octave: npyread.m is not tested")


AT_THE_END = "error: ignoring const execution_exception& while preparing to exit\n"


def octave(folder, code):
    """What Octave prints, in a folder."""
    run = subprocess.run([OCTAVE, "--norc", "--quiet", "--path", str(ROOT / "examples"), "--eval", code],
                         cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    # Octave 7 says this at its end, whatever it has done.
    return run.stdout.strip(), run.stderr.replace(AT_THE_END, "")


def test_results(random, tmp_path):
    A = random.standard_normal((50, 30))
    np.save(tmp_path / "a.npy", A)
    jmpi.svd(tmp_path / "a.npy", output=tmp_path / "a.svd")
    lines = blocks("octave")[0]
    assert "npyread" in lines
    out, err = octave(tmp_path, lines + "printf('%.17g %d %d %d %d %d', norm(A - npyread('a.npy'), 'fro'), "
                      "size(S), size(U), columns(V));")
    off, *sizes = out.split()
    assert err == "" and [int(x) for x in sizes] == [30, 1, 50, 30, 30]
    assert float(off) < 10 * np.linalg.norm(A) * 50 * EPSILON


def test_one_line(random, tmp_path):
    A = random.standard_normal((50, 30))
    jmpi.svd(A, output=tmp_path / "a.svd")
    code = one_line("octave-cli --eval").replace("addpath examples", f"addpath {ROOT}/examples")
    out, err = octave(tmp_path, code)
    assert err == "" and np.allclose([float(x) for x in out.split()], np.linalg.svd(A)[1][:3], rtol=1e-3)


def test_types(random, tmp_path):
    """One start of Octave for all of them."""
    code = ""
    for i, dtype in enumerate("<f8 >f8 <f4 <i8 >i4 <i2 i1 <u8 <u4 >u2 u1 ?".split()):
        for j, shape in enumerate([(3, 4), (5,), (0, 3), (1, 1)]):
            for order in "CF":
                x = random.integers(0, 2 if dtype == "?" else 100, shape)
                x = np.asarray(x.astype(dtype), order=order)
                np.save(tmp_path / f"{order}{i}{j}.npy", x)
                table = x[:, None] if x.ndim == 1 else x
                rows = "; ".join(" ".join(str(int(e)) for e in row) for row in table)
                want = f"[{rows}]" if x.size else f"zeros{table.shape}"
                name = {"?": "logical", "f8": "double", "f4": "single"}.get(dtype.strip("<>"))
                name = name or np.dtype(dtype).name
                code += (f"x = npyread('{order}{i}{j}.npy'); if ~isequal(double(x), {want}) || "
                         f"~isa(x, '{name}'), printf('{order} {dtype} {shape} '), end\n")
    assert octave(tmp_path, code) == ("", "")


@pytest.mark.parametrize("content, text", [(b"1 2 3", "not a .npy file"), (None, "No such file"),
                                           (b"truncated", "truncated"), (b"three", "3 dimensions")])
def test_errors(tmp_path, content, text):
    path = tmp_path / "a.npy"
    if content in (b"truncated", b"three"):
        np.save(path, np.ones((2, 3, 4)) if content == b"three" else np.ones(9))
        if content == b"truncated":
            path.write_bytes(path.read_bytes()[:-1])
    elif content is not None:
        path.write_bytes(content)
    out, err = octave(tmp_path, "npyread('a.npy');")
    assert out == "" and "a.npy" in err and text in err
