package matiotest

import (
	"os/exec"
	"testing"
)

// H5py returns a Python that has h5py, which makes HDF5 files and brings the library, or skips the test.
func H5py(t testing.TB) string {
	t.Helper()
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(python, "-c", "import h5py").Run() == nil {
			return python
		}
	}
	t.Skip("h5py, which makes HDF5 files, is not installed: scripts/setup.sh python")
	return ""
}
