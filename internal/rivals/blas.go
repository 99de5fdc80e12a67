package rivals

import (
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// openBLAS holds the thread controls of OpenBLAS; they are nil where another BLAS is at work.
type openBLAS struct {
	set    func(threads int32)
	get    func() int32
	config func() string
}

// controls looks for the thread controls in a library and its dependencies.
func controls(l library) openBLAS {
	set, errSet := l.symbol("openblas_set_num_threads")
	get, errGet := l.symbol("openblas_get_num_threads")
	config, errConfig := l.symbol("openblas_get_config")
	if errSet != nil || errGet != nil || errConfig != nil {
		return openBLAS{}
	}
	var b openBLAS
	purego.RegisterFunc(&b.set, set)
	purego.RegisterFunc(&b.get, get)
	purego.RegisterFunc(&b.config, config)
	return b
}

// with runs f while BLAS uses so many threads (0: as many as it uses now) and restores the number after it.
func (b openBLAS) with(threads int, f func()) {
	if b.set != nil && threads > 0 {
		before := b.get()
		b.set(int32(min(threads, 1<<15)))
		defer b.set(before)
	}
	f()
}

// String names the BLAS.
func (b openBLAS) String() string {
	if b.config == nil {
		return "a BLAS without settable threads"
	}
	return b.config()
}

// fileOf returns the name of the file that a routine was loaded from, "" where the system cannot tell.
func fileOf(routine uintptr) string {
	dladdr, err := purego.Dlsym(purego.RTLD_DEFAULT, "dladdr")
	if err != nil {
		return ""
	}
	info := new(struct { // Dl_info of <dlfcn.h>
		file   *byte
		base   uintptr
		symbol *byte
		entry  uintptr
	})
	found, _, _ := purego.SyscallN(dladdr, routine, uintptr(unsafe.Pointer(info)))
	runtime.KeepAlive(info)
	if int32(found) == 0 || info.file == nil {
		return ""
	}
	length := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(info.file), length)) != 0 {
		length++
	}
	return string(unsafe.Slice(info.file, length))
}
