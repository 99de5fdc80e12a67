"""hsvd, pinv and lstsq, against numpy.linalg."""

import numpy as np
import pytest

import jmpi
from conftest import EPSILON


@pytest.mark.parametrize("given", ["number", "signs", "file"])
def test_hsvd(random, tmp_path, given):
    A = random.standard_normal((50, 40))
    signs = np.where(np.arange(40) < 15, 1.0, -1.0)
    signature = 15
    if given != "number":
        random.shuffle(signs)
        signature = signs
    if given == "file":
        np.save(tmp_path / "d.npy", signs)
        signature = tmp_path / "d.npy"
    result = jmpi.hsvd(A, signature, ranks=2)
    U, S, Vh, J = result
    D = np.diag(signs)
    assert np.sum(J == 1) == 15 and np.all(np.diff(J) <= 0)
    assert np.linalg.norm(U * S @ Vh - A) < 10 * np.linalg.norm(U * S) * np.linalg.norm(Vh) * 50 * EPSILON
    assert np.linalg.norm(Vh @ D @ Vh.T - np.diag(J)) < 10 * np.linalg.norm(Vh)**2 * EPSILON
    assert np.linalg.norm(U.T @ U - np.eye(40)) < 10 * 40 * EPSILON
    eigenvalues = np.linalg.eigvalsh(A @ D @ A.T)
    largest = eigenvalues[np.argsort(-np.abs(eigenvalues))[:40]]
    largest = np.sort(largest)[::-1]
    assert np.allclose(result.eigenvalues, largest, rtol=1e-10, atol=1e-10 * np.max(np.abs(largest)))


def test_hsvd_that_does_not_exist():
    with pytest.raises(jmpi.NotConverged) as raised:
        jmpi.hsvd([[1.0, 1.0], [0.0, 0.0]], [1, -1])
    assert raised.value.code == 4 and raised.value.result is None


def matrices():
    random = np.random.default_rng(3)
    tall = random.standard_normal((40, 25))
    yield "tall", tall
    yield "wide", tall.T
    yield "square", random.standard_normal((30, 30))
    yield "rank 7", random.standard_normal((40, 7)) @ random.standard_normal((7, 25))
    yield "rank 7, wide", random.standard_normal((25, 7)) @ random.standard_normal((7, 40))
    yield "zero", np.zeros((6, 4))
    yield "integers", random.integers(-9, 9, (20, 12))


@pytest.mark.parametrize("A", [pytest.param(A, id=name) for name, A in matrices()])
def test_pinv(A):
    want = np.linalg.pinv(np.asarray(A, float), rcond=max(A.shape) * EPSILON)
    got = jmpi.pinv(A)
    assert got.shape == want.shape
    assert np.allclose(got, want, rtol=0, atol=1e-11 * np.max(np.abs(want)))


@pytest.mark.parametrize("columns", [None, 3])
@pytest.mark.parametrize("A", [pytest.param(A, id=name) for name, A in matrices()])
def test_lstsq(A, columns):
    b = np.random.default_rng(4).standard_normal(A.shape[:1] if columns is None else (A.shape[0], columns))
    want = np.linalg.lstsq(np.asarray(A, float), b, rcond=None)
    got = jmpi.lstsq(A, b)
    for x, y in zip(got, want):
        assert np.shape(x) == np.shape(y)
        assert np.allclose(x, y, rtol=1e-10, atol=1e-11)


def test_pinv_of_graded_rows():
    """With rtol=0 the small singular values, which are right, take part. The true inverse is that of a well
    conditioned matrix with its columns divided by the grading."""
    random = np.random.default_rng(5)
    B, grading = random.standard_normal((20, 20)), np.logspace(0, -25, 20)
    A = B * grading[:, None]
    want = np.linalg.inv(B) / grading

    def off(x):
        return np.linalg.norm(x - want) / np.linalg.norm(want)

    assert off(jmpi.pinv(A, rtol=0)) < 1e-10
    assert off(jmpi.pinv(A)) > 0.9


def test_rtol():
    A = np.diag([4.0, 2.0, 1.0])
    assert np.allclose(jmpi.pinv(A, rtol=0.3), np.diag([0.25, 0.5, 0]))
    x, rest, rank, S = jmpi.lstsq(A, [4, 4, 4], rtol=0.5)
    assert np.allclose(x, [1, 0, 0]) and rest.size == 0 and rank == 1 and np.allclose(S, [4, 2, 1])


@pytest.mark.parametrize("b, text", [([1, 2], "b has 2 rows, A 3"), ([1j, 2, 3], "complex"),
                                     ("abc", "dimensions")])
def test_wrong_right_sides(b, text):
    with pytest.raises(jmpi.BadInput, match=text):
        jmpi.lstsq(np.eye(3), b)
