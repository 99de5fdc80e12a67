package cuda

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ebitengine/purego"
)

// ErrMissing: a library of NVIDIA's, or a routine in it, is not there.
var ErrMissing = errors.New("not found")

// library is a shared library that was opened at run time.
type library struct {
	name   string
	handle uintptr
}

// folders are where libraries are looked for beyond those that the dynamic linker knows.
func folders() []string {
	dirs := []string{""}
	for _, root := range []string{os.Getenv("CUDA_HOME"), os.Getenv("CUDA_PATH"), "/usr/local/cuda"} {
		if root != "" {
			dirs = append(dirs, filepath.Join(root, "lib64"))
		}
	}
	return dirs
}

// openLibrary opens the first of the libraries that is there.
func openLibrary(names ...string) (library, error) {
	var causes []error
	for _, dir := range folders() {
		for _, name := range names {
			path := filepath.Join(dir, name)
			handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
			if err == nil {
				return library{path, handle}, nil
			}
			causes = append(causes, err)
		}
	}
	return library{}, fmt.Errorf("library %s %w: %w", names[0], ErrMissing, causes[0])
}

// routine is where the address of a routine goes.
type routine struct {
	name    string
	address *uintptr
}

// bind looks the routines up.
func (l library) bind(routines []routine) error {
	for _, r := range routines {
		address, err := purego.Dlsym(l.handle, r.name)
		if err != nil {
			return fmt.Errorf("routine %s %w in %s: the library is too old", r.name, ErrMissing, l.name)
		}
		*r.address = address
	}
	return nil
}

// invoke calls a routine and returns the integer that it returns. What the arguments point to stays
// where it is meanwhile.
//
//go:uintptrescapes
func invoke(address uintptr, args ...uintptr) int32 {
	value, _, _ := purego.SyscallN(address, args...)
	return int32(value)
}
