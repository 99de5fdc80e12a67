"""The recipe with which Spack, 1.0 or newer, builds jmpi from the clone that this file lies in:

spack repo add scripts/spack/spack_repo/jmpi
spack install jmpi
"""

import pathlib

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class Jmpi(Package):
    """The SVD and the hyperbolic SVD of dense real matrices over MPI ranks, on CPUs and GPUs, with high
    relative accuracy."""

    # The clone: scripts/spack/spack_repo/jmpi/packages/jmpi/package.py lies six folders below it.
    git = pathlib.Path(__file__).resolve().parents[6].as_uri()

    license("MIT")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("go@1.26:", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi")
    depends_on("openblas")

    sanity_check_is_file = ["bin/jmpi", "share/man/man1/jmpi.1"]

    def setup_build_environment(self, env):
        env.set("MPICC", self.spec["mpi"].mpicc)
        env.set("GOTOOLCHAIN", "local")
        env.set("GOFLAGS", "-modcacherw")
        env.set("GOPATH", join_path(self.stage.path, "go"))
        env.set("GOCACHE", join_path(self.stage.path, "cache"))

    def install(self, spec, prefix):
        flags = Executable("scripts/mpiflags.sh")
        flags("go", "build", "-buildvcs=false", "-o", "bin/jmpi", "./cmd/jmpi")
        make("install", f"PREFIX={prefix}")

    def test_decomposition(self):
        """decompose a small matrix, and check the result"""
        jmpi = Executable(self.prefix.bin.jmpi)
        jmpi("gen", "gauss", "-o", "a.npy", "--shape", "60x40")
        jmpi("svd", "a.npy", "--backend", "cpu")
        jmpi("check", "a.npy", "a.svd")
