package rivals

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// library is a shared library that was opened at run time.
type library struct {
	name   string
	handle uintptr
}

// open opens the first of the libraries that is there. Its symbols become visible to the
// libraries that are opened after it.
func open(names ...string) (library, error) {
	runtime.LockOSThread() // what dlopen complains of is kept by thread
	defer runtime.UnlockOSThread()
	var causes []string
	for _, name := range names {
		handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			return library{name, handle}, nil
		}
		causes = append(causes, err.Error())
	}
	return library{}, fmt.Errorf("library %s %w: %s", names[0], ErrMissing, strings.Join(causes, "; "))
}

// symbol returns the address of a routine of the library or of the libraries that it depends on.
func (l library) symbol(name string) (uintptr, error) {
	address, err := purego.Dlsym(l.handle, name)
	if err != nil {
		return 0, fmt.Errorf("routine %s %w in %s", name, ErrMissing, l.name)
	}
	return address, nil
}

// argument is an argument of a Fortran routine, or of a C function that takes pointers alone. All
// go by reference.
type argument struct {
	address   unsafe.Pointer
	character bool
}

func char(option byte) argument   { return argument{unsafe.Pointer(&option), true} }
func num(x int32) argument        { return argument{unsafe.Pointer(&x), false} }
func numTo(x *int32) argument     { return argument{unsafe.Pointer(x), false} }
func ints(x []int32) argument     { return argument{unsafe.Pointer(unsafe.SliceData(x)), false} }
func floats(x []float64) argument { return argument{unsafe.Pointer(unsafe.SliceData(x)), false} }

// call calls a routine and returns its value, if that is an integer. The lengths of the CHARACTER
// arguments follow at the end, by value, as compilers that use them expect; the others do not look at them.
func call(routine uintptr, args ...argument) int32 {
	var pin runtime.Pinner
	defer pin.Unpin()
	addresses := make([]uintptr, len(args), 2*len(args))
	for i, arg := range args {
		if arg.address != nil {
			pin.Pin(arg.address)
		}
		addresses[i] = uintptr(arg.address)
		if arg.character {
			addresses = append(addresses, 1)
		}
	}
	value, _, _ := purego.SyscallN(routine, addresses...)
	return int32(value)
}
