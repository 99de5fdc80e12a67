package nvidia

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// ErrMissing: a library of NVIDIA's, or a routine in it, is not there.
var ErrMissing = errors.New("not found")

// Library is a shared library that was opened at run time.
type Library struct {
	name   string
	handle uintptr
}

// Driver, NVRTC, CUBLAS, CUBLASLT, CUSOLVER, CUSOLVERMP and NCCL open these libraries, of the versions that
// are known.
var (
	Driver   = once("libcuda.so.1")
	NVRTC    = once("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so")
	CUBLAS   = once("libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so")
	CUBLASLT = once("libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so")
	CUSOLVER = once("libcusolver.so.12", "libcusolver.so.11", "libcusolver.so")
	// of several processes, and the messages that it sends
	CUSOLVERMP = once("libcusolverMp.so.0", "libcusolverMp.so")
	NCCL       = once("libnccl.so.2", "libnccl.so")
)

// once returns a function that opens the first of the libraries that is there, when it is first called.
func once(names ...string) func() (Library, error) {
	return sync.OnceValues(func() (Library, error) { return open(names...) })
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

// open opens the first of the libraries that is there.
func open(names ...string) (Library, error) {
	runtime.LockOSThread() // what dlopen complains of is kept by thread
	defer runtime.UnlockOSThread()
	var causes []error
	for _, dir := range folders() {
		for _, name := range names {
			path := filepath.Join(dir, name)
			handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
			if err == nil {
				return Library{path, handle}, nil
			}
			causes = append(causes, err)
		}
	}
	return Library{}, fmt.Errorf("library %s %w: %w", names[0], ErrMissing, causes[0])
}

// Routines says where the addresses of routines go, by name.
type Routines map[string]*uintptr

// Bind looks the routines up.
func (l Library) Bind(routines Routines) error {
	for name, address := range routines {
		found, err := l.symbol(name)
		if err != nil {
			return err
		}
		*address = found
	}
	return nil
}

// Register sets the functions, given as pointers to variables of function types, to the routines of
// these names.
func (l Library) Register(functions map[string]any) error {
	for name, f := range functions {
		address, err := l.symbol(name)
		if err != nil {
			return err
		}
		purego.RegisterFunc(f, address)
	}
	return nil
}

// symbol returns the address of a routine.
func (l Library) symbol(name string) (uintptr, error) {
	address, err := purego.Dlsym(l.handle, name)
	if err != nil {
		return 0, fmt.Errorf("routine %s %w in %s: the library is too old", name, ErrMissing, l.name)
	}
	return address, nil
}

// Invoke calls a routine and returns the integer that it returns. What the arguments point to stays
// where it is meanwhile.
//
//go:uintptrescapes
func Invoke(address uintptr, args ...uintptr) int32 {
	value, _, _ := purego.SyscallN(address, args...)
	return int32(value)
}

// Text calls a routine that returns a C string.
func Text(address uintptr, args ...uintptr) string {
	text, _, _ := purego.SyscallN(address, args...)
	return GoString(text)
}

// GoString returns the C string at an address outside the Go heap.
func GoString(address uintptr) string {
	if address == 0 {
		return ""
	}
	return unix.BytePtrToString(*(**byte)(unsafe.Pointer(&address)))
}
