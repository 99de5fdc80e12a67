"""Folders of results, as arrays."""

from __future__ import annotations

import json
import mmap
import os
from typing import Any, Dict, Optional, Tuple

import numpy as np

from ._errors import BadInput
from ._process import Path

Parts = Tuple[Optional[np.ndarray], ...]


class SVD(tuple):
    """U, S and Vh, with A = U @ diag(S) @ Vh. They can be taken apart, as what numpy.linalg.svd returns.

    U:      (m, k), orthonormal columns; None if it was not asked for
    S:      (k,), the singular values, non-increasing
    Vh:     (k, n), orthonormal rows; None if it was not asked for
    info:   what was done and why, the contents of info.json
    folder: where the files are; None if they go with the arrays
    """

    U: Optional[np.ndarray]
    S: np.ndarray
    Vh: Optional[np.ndarray]
    info: Dict[str, Any]
    folder: Optional[str]

    def __new__(cls, parts: Parts, info: Dict[str, Any], folder: Optional[str]) -> "SVD":
        self = super().__new__(cls, parts)
        self.U, self.S, self.Vh = parts[:3]
        self.info, self.folder = info, folder
        return self

    def __getnewargs__(self) -> Tuple[Any, ...]:
        return tuple(self), self.info, self.folder

    def __repr__(self) -> str:
        shapes = ", ".join("None" if x is None else "×".join(map(str, x.shape)) for x in self)
        return f"<jmpi.{type(self).__name__}: {shapes}>"


class HSVD(SVD):
    """U, S, Vh and J, the hyperbolic SVD of a matrix A with a signature D: A = U @ diag(S) @ Vh with Uᵀ·U = I
    and Vh @ D @ Vhᵀ = diag(J).

    U:  (m, n)
    S:  (n,), non-increasing where J is +1, non-decreasing where it is −1
    Vh: (n, n)
    J:  (n,), the signs of D in order, all +1 first
    """

    J: np.ndarray

    def __new__(cls, parts: Parts, info: Dict[str, Any], folder: Optional[str]) -> "HSVD":
        self = super().__new__(cls, parts, info, folder)
        self.J = parts[3]
        return self

    @property
    def eigenvalues(self) -> np.ndarray:
        """(n,), those of A @ D @ A.T, non-increasing; the eigenvectors are the columns of U."""
        return self.S * self.S * self.J


def array(path: str) -> np.ndarray:
    """The array in a .npy file, memory-mapped. It can be changed; the file cannot."""
    with open(path, "rb") as file:
        if np.lib.format.read_magic(file) == (1, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
        else:
            shape, fortran, dtype = np.lib.format.read_array_header_2_0(file)
        if 0 in shape:
            return np.empty(shape, dtype)
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        return np.ndarray(shape, dtype, memory, file.tell(), order="F" if fortran else "C")


def columns(path: str, name: str) -> Optional[np.ndarray]:
    """The data set of a name in an HDF5 file of results, memory-mapped, or None. It can be changed; the file
    cannot."""
    try:
        import h5py  # type: ignore[import-untyped]
    except ImportError:
        raise BadInput(f"{path} needs h5py: python3 -m pip install h5py, or decompose without --format h5",
                       3) from None
    with h5py.File(path, "r") as file:
        if name not in file:
            return None
        shape, offset = file[name].shape[::-1], file[name].id.get_offset()  # column by column
    if 0 in shape:
        return np.empty(shape)
    with open(path, "rb") as raw:
        memory = mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_COPY)
    return np.ndarray(shape, "<f8", memory, offset, order="F")


def load(folder: Path) -> SVD:
    """The results in a folder that the program has written, as what svd or hsvd returns, memory-mapped.

    BadInput is raised if the folder has no results.
    """
    folder = os.fspath(folder)
    parts: Dict[str, Optional[np.ndarray]] = {}
    try:
        with open(os.path.join(folder, "info.json"), encoding="utf-8") as file:
            info = json.load(file)
        one = os.path.join(folder, "results.h5")
        for name in "SUV":
            path = os.path.join(folder, name + ".npy")
            if os.path.exists(one):
                parts[name] = columns(one, name)
            else:
                parts[name] = array(path) if name == "S" or os.path.exists(path) else None
    except (OSError, ValueError) as problem:
        raise BadInput(f"{folder}: no results of jmpi: {problem}", 3) from problem
    U, S, V = parts["U"], parts["S"], parts["V"]
    Vh = None if V is None else V.T
    if not info.get("signature"):
        return SVD((U, S, Vh), info, folder)
    J = np.where(np.arange(len(S)) < info["signature"]["positive"], 1.0, -1.0)
    return HSVD((U, S, Vh, J), info, folder)
