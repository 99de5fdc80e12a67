"""The SVD and the hyperbolic SVD of dense real matrices, by the program jmpi, on one machine or many.

    import jmpi
    U, S, Vh = jmpi.svd(A)                        # as numpy.linalg.svd(A, full_matrices=False)
    U, S, Vh = jmpi.svd("a.npy", ranks=4, k=50)   # on four ranks; the 50 largest, of a matrix in a file

The arrays are memory-mapped files: what is not looked at takes no memory. The program has to be installed;
`program=`, or the environment variable JMPI, names it where it is not on the PATH.
"""

from importlib import metadata as _metadata

from ._errors import BadInput, CheckFailed, Error, NotConverged, UsageError
from ._results import HSVD, SVD, load
from ._solve import hsvd, lstsq, pinv, svd

try:
    __version__ = _metadata.version("jmpi")
except _metadata.PackageNotFoundError:  # used from its source
    __version__ = "0"

__all__ = ["svd", "hsvd", "pinv", "lstsq", "load", "SVD", "HSVD", "Error", "UsageError", "BadInput",
           "NotConverged", "CheckFailed"]
