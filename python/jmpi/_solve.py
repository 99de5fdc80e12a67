"""The decompositions, and what is solved with them."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from typing import Any, Iterator, Optional, Tuple, Union

import numpy as np

from . import _process, _results
from ._errors import BadInput, CheckFailed, Error, NotConverged
from ._process import Launcher, Path, Progress
from ._results import HSVD, SVD

# A matrix, or the name of a file that has one.
Matrix = Union[np.ndarray, Any, Path]


def svd(A: Matrix, *, ranks: Optional[int] = None, vectors: str = "both", k: Optional[int] = None,
        rtol: Optional[float] = None, output: Optional[Path] = None, launcher: Launcher = None,
        hostfile: Optional[Path] = None, progress: Progress = False, scratch: Optional[Path] = None,
        program: Optional[Path] = None, **options: Any) -> SVD:
    """The singular value decomposition A = U @ diag(S) @ Vh, as numpy.linalg.svd(A, full_matrices=False).

    A:        (m, n), an array of real numbers, or the name of a file, as of `jmpi svd`
    ranks:    MPI ranks; without it and without launcher, one process that takes all cores or GPUs
    vectors:  "both", "u", "v" or "none"; what is left out is None
    k:        only the k largest singular values and their vectors, or all if there are fewer
    rtol:     only the singular values above rtol·S[0]
    output:   a folder for the results, which stays; it must not exist, unless force=True. Without it the
              files go with the arrays
    launcher: "mpirun" (the default for several ranks), "srun", or a command that begins with one of them, as
              "mpirun --oversubscribe"
    hostfile: of mpirun
    progress: True: what the program says goes to stderr; a function: it is called with each line. What the
              function raises ends the run
    scratch:  where temporary files go: a folder that all hosts share. Without it $TMPDIR, or with several
              hosts the current folder
    program:  the program, "jmpi" on the PATH or in the environment variable JMPI
    options:  any other flag of `jmpi svd`: precondition="qrcp-lq", threads=2, check=True, force=True, ...

    Returns an SVD, a tuple of U (m, K), S (K,) and Vh (K, n) with K = min(m, n), k, or fewer by rtol. They
    are float64, memory-mapped, and may be changed: the files are not. `.info` tells what was done.

    Raises BadInput for a matrix that cannot be used, UsageError for an option, NotConverged with the results
    so far in `.result`, and Error for the rest. Ctrl-C ends the run; then no process and no temporary file is
    left.
    """
    flags = dict(options, vectors=vectors, k=k, rtol=rtol)
    return _decompose(A, None, output, _Job(ranks, launcher, hostfile, progress, scratch, program), flags)


def hsvd(A: Matrix, signature: Union[int, Matrix], *, ranks: Optional[int] = None, vectors: str = "both",
         output: Optional[Path] = None, launcher: Launcher = None, hostfile: Optional[Path] = None,
         progress: Progress = False, scratch: Optional[Path] = None, program: Optional[Path] = None,
         **options: Any) -> HSVD:
    """The hyperbolic SVD A = U @ diag(S) @ Vh of a matrix with a sign for each column.

    A:         (m, n) with m >= n, as for svd
    signature: (n,), the signs, +1 or -1; or a number P: the first P columns have +1, the others -1; or the
               name of a file that has them
    The others are those of svd.

    Returns an HSVD, a tuple of U (m, n), S (n,), Vh (n, n) and J (n,). With D = diag(signature) Uᵀ·U = I,
    Vh @ D @ Vhᵀ = diag(J), and the eigenvalues of A @ D @ A.T, `.eigenvalues`, are S²·J.

    Raises NotConverged, with `.result` None, if A has no such decomposition; otherwise as svd.
    """
    flags = dict(options, vectors=vectors)
    job = _Job(ranks, launcher, hostfile, progress, scratch, program)
    result = _decompose(A, signature, output, job, flags)
    assert isinstance(result, HSVD)
    return result


def pinv(A: Matrix, rtol: Optional[float] = None, **options: Any) -> np.ndarray:
    """The Moore-Penrose pseudoinverse, (n, m) for A (m, n), as numpy.linalg.pinv.

    Singular values up to rtol·S[0] count as zero; without rtol it is max(m, n)·2⁻⁵². rtol=0 takes all that
    are not zero, which suits a matrix whose rows or columns are of very different size. The options are
    those of svd.
    """
    U, S, Vh = svd(A, **options)[:3]
    keep = _large(U, S, Vh, rtol)
    return (Vh[keep].T / S[keep]) @ U[:, keep].T


def lstsq(A: Matrix, b: Any, rtol: Optional[float] = None,
          **options: Any) -> Tuple[np.ndarray, np.ndarray, int, np.ndarray]:
    """The x that minimizes ‖A @ x − b‖, and of all of these the shortest, as numpy.linalg.lstsq.

    A: (m, n);  b: (m,) or (m, p);  rtol: as for pinv. The options are those of svd.

    Returns x (n,) or (n, p), the sums of the squares of b − A @ x (p,), which are empty if the rank is below
    n or m <= n, the rank, and the singular values (min(m, n),).
    """
    b = np.asarray(b)
    if b.ndim not in (1, 2) or b.dtype.kind not in "biuf":
        raise BadInput(f"b: {b.ndim} dimensions of {b.dtype}; give a vector or a matrix of real numbers", 3)
    U, S, Vh = svd(A, **options)[:3]
    m, n = U.shape[0], Vh.shape[1]
    if b.shape[0] != m:
        raise BadInput(f"b has {b.shape[0]} rows, A {m}", 3)
    keep = _large(U, S, Vh, rtol)
    rank = int(np.count_nonzero(keep))
    inside = U[:, keep].T @ b
    x = (Vh[keep].T / S[keep]) @ inside
    rest = np.empty(0)
    if rank == n < m:
        rest = np.atleast_1d(np.sum((b - U[:, keep] @ inside) ** 2, axis=0))
    return x, rest, rank, np.array(S)


def _large(U: np.ndarray, S: np.ndarray, Vh: np.ndarray, rtol: Optional[float]) -> np.ndarray:
    """Which singular values do not count as zero."""
    if rtol is None:
        rtol = max(U.shape[0], Vh.shape[1]) * np.finfo(float).eps
    return S > rtol * np.max(S, initial=0.0)


class _Job:
    """Where and how the program runs."""

    def __init__(self, ranks: Optional[int], launcher: Launcher, hostfile: Optional[Path], progress: Progress,
                 scratch: Optional[Path], program: Optional[Path]) -> None:
        self.words = _process.launch(launcher, ranks, hostfile) + [_process.find(program)]
        self.progress = progress
        several = hostfile is not None or bool(self.words[1:]) and os.path.basename(self.words[0]) == "srun"
        self.scratch = os.fspath(scratch) if scratch is not None else os.getcwd() if several else None

    @contextlib.contextmanager
    def folder(self) -> Iterator[Tuple[str, _process.Guard]]:
        """A temporary folder and the process that deletes it at the end. Arrays mapped from its files keep
        these."""
        try:
            path = tempfile.mkdtemp(prefix="jmpi-", dir=self.scratch)
        except OSError as problem:
            raise BadInput(f"scratch: {problem}", 3) from problem
        try:
            with _process.Guard(path) as guard:
                yield path, guard
        finally:
            shutil.rmtree(path, ignore_errors=True)  # where the guard could not start


def _decompose(A: Matrix, signature: Optional[Union[int, Matrix]], output: Optional[Path], job: _Job,
               flags: dict) -> SVD:
    with job.folder() as (folder, guard):
        # Nobody knows the temporary files by their names.
        names = {os.path.join(folder, "A.npy"): "A", os.path.join(folder, "signature.npy"): "signature"}
        command = job.words + ["svd", _file(A, folder, "A")]
        if signature is not None:
            flags["signature"] = signature
            if not isinstance(signature, (int, np.integer)):
                flags["signature"] = _file(signature, folder, "signature")
        target = os.path.join(folder, "results")
        names[target] = "the exception's .result"
        if output is not None:
            target = os.fspath(output)
        command += [f"--output={target}"] + _process.flags(flags)
        try:
            guard.run(command, job.progress, names)
        except (NotConverged, CheckFailed) as failure:
            with contextlib.suppress(Error):
                failure.result = _loaded(target, output)
            raise
        return _loaded(target, output)


def _loaded(target: str, output: Optional[Path]) -> SVD:
    result = _results.load(target)
    if output is None:
        result.folder = None
    return result


def _file(x: Matrix, folder: str, name: str) -> str:
    """The name of the file that has x, which is written if it is an array."""
    if isinstance(x, (str, os.PathLike)):
        return os.path.abspath(os.fspath(x))
    x = np.asarray(x)
    dimensions = {"A": 2, "signature": 1}[name]
    if x.dtype.kind == "c":
        raise BadInput(f"{name}: complex numbers ({x.dtype}); only real matrices are decomposed", 3)
    if x.dtype.kind not in "biuf" or x.dtype.itemsize > 8:
        raise BadInput(f"{name}: {x.dtype} is not supported; give {name}.astype('float64')", 3)
    if x.ndim != dimensions:
        raise BadInput(f"{name}: {x.ndim} dimensions instead of {dimensions}", 3)
    path = os.path.join(folder, name + ".npy")
    try:
        np.save(path, x)
    except OSError as problem:
        raise BadInput(f"{name} cannot be written to {folder}: {problem}; scratch= names another place",
                       3) from problem
    return path
