"""What the README says works as it is printed."""

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
