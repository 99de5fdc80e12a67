package cuda

import (
	"fmt"
	"sync"

	"jmpi/internal/nvidia"
)

// loader returns a function that opens a library of the CUDA toolkit when it is first called, and looks up
// the routines of T in it.
func loader[T any](name string, open func() (nvidia.Library, error),
	routines func(*T) nvidia.Routines) func() (*T, error) {
	return sync.OnceValues(func() (*T, error) {
		lib, err := open()
		api := new(T)
		if err == nil {
			err = lib.Bind(routines(api))
		}
		if err != nil {
			return nil, fmt.Errorf("%s of the CUDA toolkit: %w", name, err)
		}
		return api, nil
	})
}

// checkCall returns what a call of a library has to complain of.
func checkCall(library, call string, code int32) error {
	if code == 0 {
		return nil
	}
	return &callError{call, code, library + " failed"}
}
