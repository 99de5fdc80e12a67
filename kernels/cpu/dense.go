package cpu

import (
	"fmt"

	"jmpi/kernels"
)

var _ kernels.Dense = (*device)(nil)

// named wraps the error of a primitive, if there is one.
func named(primitive string, err error) error {
	if err != nil {
		return fmt.Errorf("cpu: %s: %w", primitive, err)
	}
	return nil
}
