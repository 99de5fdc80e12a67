"""What the README says works as it is printed."""

import os
import re
import subprocess
import sys

import numpy as np

import jmpi
from conftest import ROOT, judge


def blocks(language):
    """The blocks of the README in a language."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return [block.split("```")[0] for block in text.split(f"```{language}\n")[1:]]


def test_the_package():
    code = next(block for block in blocks("python") if "import jmpi" in block)
    names = {}
    exec(code, names)  # noqa: S102
    assert names["U"].shape == (300, 200) and names["J"].sum() == 80 - 120 and names["rank"] == 200


def test_numpy_alone(random, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    A = random.standard_normal((30, 20))
    judge(A, jmpi.svd(A, output="a.svd"))
    code = next(block for block in blocks("python") if "a.svd" in block and "import numpy" in block)
    names = {}
    exec(code, names)  # noqa: S102
    assert np.allclose(names["A"], A)


def one_line(command):
    """What the README types after a command, between quotes."""
    return re.search(f'^{command} "(.*)"$', (ROOT / "README.md").read_text(encoding="utf-8"), re.M)[1]


def test_python_in_one_line(random, tmp_path):
    A = random.standard_normal((30, 20))
    np.save(tmp_path / "a.npy", A)
    out = subprocess.run([sys.executable, "-c", one_line("env/bin/python -c")], cwd=tmp_path, check=True,
                         env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, text=True,
                         stdout=subprocess.PIPE).stdout
    assert out == f"(30, 20) {np.linalg.svd(A)[1][:3]} (20, 20)\n"
