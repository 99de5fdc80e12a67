package hdf5

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// identity is that of a file; the zero value is that of none.
type identity struct{ device, inode uint64 }

func identify(file *os.File) (identity, error) {
	var s unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &s); err != nil {
		return identity{}, fmt.Errorf("look at %s: %w", file.Name(), err)
	}
	return identity{uint64(s.Dev), s.Ino}, nil
}

// spare is a child that nobody uses. It may have looked into a file; then it is for that file alone, since a
// damaged one may have done it harm.
var spare struct {
	sync.Mutex
	child *child
	of    identity
}

// Prepare starts a child for the next who needs one. It opens the library while others do something else.
func Prepare() {
	if c, err := start(); err == nil { // who needs it meets the error again
		keep(c, identity{})
	}
}

// Release ends a child that nobody uses.
func Release() { keep(nil, identity{}) }

// take returns the spare child if it has looked into no other file, or a new one.
func take(of identity) (*child, error) {
	spare.Lock()
	c := spare.child
	if c != nil && (spare.of == (identity{}) || spare.of == of) {
		spare.child = nil
		spare.Unlock()
		return c, nil
	}
	spare.Unlock()
	return start()
}

// keep makes a child the spare one, in place of another, which ends.
func keep(c *child, of identity) {
	spare.Lock()
	old := spare.child
	spare.child, spare.of = c, of
	spare.Unlock()
	if old != nil {
		old.close()
	}
}
