package matio

import (
	"os"
	"testing"

	"jmpi/internal/hdf5"
)

// The processes that call the HDF5 library are this test binary.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == hdf5.ChildArgument {
		os.Exit(hdf5.Serve())
	}
	code := m.Run()
	if hdf5Folder != "" {
		_ = os.RemoveAll(hdf5Folder)
	}
	os.Exit(code)
}
