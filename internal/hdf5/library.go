package hdf5

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// Variable is the environment variable that names the library.
const Variable = "JMPI_HDF5"

// names are those of the library in the versions 1.10, 1.12, 1.14 and 2.0, the serial ones first.
var names = []string{
	"libhdf5_serial.so.103", "libhdf5_serial.so.310", "libhdf5_serial.so.200", "libhdf5_serial.so.320",
	"libhdf5.so.310", "libhdf5.so.320", "libhdf5.so.200", "libhdf5.so.103", "libhdf5.so.101", "libhdf5.so.100",
	"libhdf5_serial.so.100", "libhdf5_serial.so", "libhdf5.so", "libhdf5_openmpi.so.103",
	"libhdf5_openmpi.so.310", "libhdf5_mpich.so.103", "libhdf5_mpich.so.310",
}

// library is the opened library, in a child.
type library struct {
	name     string
	version  [3]uint32
	handle   uintptr
	routines map[string]uintptr
	walk     uintptr  // the callback that collects messages
	messages []string // of the last error, the deepest first
}

// openLibrary opens the library that the variable names, or the first that is there.
func openLibrary() (*library, error) {
	candidates := names
	if name := os.Getenv(Variable); name != "" {
		candidates = []string{name}
	}
	runtime.LockOSThread() // what dlopen complains of is kept by thread
	defer runtime.UnlockOSThread()
	var cause error
	for _, name := range candidates {
		handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			l := &library{name: name, handle: handle, routines: map[string]uintptr{}}
			return l, l.start()
		}
		if cause == nil || !strings.Contains(err.Error(), "No such file") {
			cause = err
		}
	}
	if name := os.Getenv(Variable); name != "" {
		return nil, fmt.Errorf("the HDF5 library that %s names cannot be opened: %w", Variable, cause)
	}
	return nil, fmt.Errorf("the HDF5 library is not there (%s): install it (Debian: libhdf5-103-1 or "+
		"libhdf5-310, Fedora: hdf5), or name it by %s=/path/to/libhdf5.so", names[0], Variable)
}

// start initializes the library, silently, and looks at its version.
func (l *library) start() error {
	if _, err := l.status("H5open"); err != nil {
		return err
	}
	v := &l.version
	if _, err := l.status("H5get_libversion", uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&v[1])),
		uintptr(unsafe.Pointer(&v[2]))); err != nil {
		return err
	}
	if v[0] < 1 || v[0] == 1 && v[1] < 10 {
		return fmt.Errorf("%v: too old; 1.10 or newer is needed: name another library by %s", l, Variable)
	}
	l.walk = purego.NewCallback(func(_ uintptr, entry uintptr, _ uintptr) uintptr {
		const description = 48 // its offset in H5E_error2_t
		l.messages = append(l.messages, text(*(*uintptr)(pointer(entry + description))))
		return 0
	})
	_, err := l.status("H5Eset_auto2", 0, 0, 0)
	return err
}

func (l *library) String() string {
	return fmt.Sprintf("HDF5 %d.%d.%d (%s)", l.version[0], l.version[1], l.version[2], l.name)
}

// routine returns the address of a routine, 0 if the library does not have it.
func (l *library) routine(name string) uintptr {
	address, known := l.routines[name]
	if !known {
		address, _ = purego.Dlsym(l.handle, name)
		l.routines[name] = address
	}
	return address
}

// call calls a routine, all of whose arguments are integers or pointers. What they point to stays where it is
// meanwhile if the conversion of the pointer stands among the arguments.
//
//go:uintptrescapes
func (l *library) call(name string, args ...uintptr) (uintptr, error) {
	address := l.routine(name)
	if address == 0 {
		return 0, fmt.Errorf("%v has no routine %s", l, name)
	}
	value, _, _ := purego.SyscallN(address, args...)
	return value, nil
}

// status calls a routine that returns an int, which is negative where it fails.
//
//go:uintptrescapes
func (l *library) status(name string, args ...uintptr) (int, error) {
	value, err := l.call(name, args...)
	if err == nil && int32(value) < 0 {
		err = l.complaint()
	}
	return int(int32(value)), err
}

// long calls a routine that returns an integer of 64 bits, which is negative where it fails.
//
//go:uintptrescapes
func (l *library) long(name string, args ...uintptr) (int64, error) {
	value, err := l.call(name, args...)
	if err == nil && int64(value) < 0 {
		err = l.complaint()
	}
	return int64(value), err
}

// id is long for an object of the library, which is closed by a routine when the holder is.
//
//go:uintptrescapes
func (l *library) id(h *holder, closer, name string, args ...uintptr) (uintptr, error) {
	id, err := l.long(name, args...)
	if err == nil {
		h.undo = append(h.undo, func() { _, _ = l.status(closer, uintptr(id)) }) // of what was only read
	}
	return uintptr(id), err
}

// holder holds objects of the library.
type holder struct{ undo []func() }

// release closes them, the last first.
func (h *holder) release() {
	for k := len(h.undo) - 1; k >= 0; k-- {
		h.undo[k]()
	}
	h.undo = nil
}

// complaint is what the library says of its last error: the deepest message, and what it means if something
// lies beyond the end that a file tells.
func (l *library) complaint() error {
	const upward, current = 0, 0
	l.messages = nil
	_, _ = l.call("H5Ewalk2", current, upward, l.walk, 0)
	for _, m := range l.messages {
		if strings.HasPrefix(m, "addr overflow") {
			return fmt.Errorf("damaged or cut short: %s", m)
		} else if m != "" {
			return errors.New(m)
		}
	}
	return errors.New("the HDF5 library gives no reason")
}

// constant returns a variable of the library that holds an object.
func (l *library) constant(name string) (uintptr, error) {
	address := l.routine(name)
	if address == 0 {
		return 0, fmt.Errorf("%v has no %s", l, name)
	}
	return uintptr(*(*int64)(pointer(address))), nil
}

// pointer is an address outside the Go heap.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// text returns the C string at an address outside the Go heap.
func text(address uintptr) string {
	if address == 0 {
		return ""
	}
	return unix.BytePtrToString((*byte)(pointer(address)))
}

// cstring is a text as C has it.
func cstring(s string) *byte {
	b := append([]byte(s), 0)
	return &b[0]
}
