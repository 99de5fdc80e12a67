package commtest

import (
	"errors"
	"fmt"

	"jmpi/dist/comm"
	"jmpi/kernels"
)

type startFunc func(a kernels.Address, bytes int64, peer, tag int) *comm.Request

// wrongArguments must fail at once, say which call it was, and leave the communicator usable.
func wrongArguments(c comm.Comm) error {
	block, err := NewBlock(16)
	if err != nil {
		return err
	}
	calls := []struct {
		op    string
		start startFunc
	}{{"send", c.Isend}, {"receive", c.Irecv}}
	arguments := []struct {
		bytes     int64
		peer, tag int
	}{{16, c.Size(), 1}, {16, -1, 1}, {16, -2, 1}, {-1, c.Rank(), 1}, {16, c.Rank(), -1},
		{16, c.Rank(), 1 << 31}}
	for _, call := range calls {
		for _, a := range arguments {
			err := call.start(block.Address(0), a.bytes, a.peer, a.tag).Wait()
			var failed *comm.CommError
			if !errors.As(err, &failed) {
				return fmt.Errorf("%s of %d bytes, peer %d, tag %d: error %v, want a CommError", call.op, a.bytes, a.peer,
					a.tag, err)
			}
			if failed.Op != call.op || failed.Rank != c.Rank() || failed.Peer != a.peer || failed.Tag != a.tag {
				return fmt.Errorf("%s, peer %d, tag %d is reported as %+v", call.op, a.peer, a.tag, *failed)
			}
		}
	}
	if err := self(c); err != nil {
		return fmt.Errorf("after wrong arguments: %w", err)
	}
	return block.Free()
}
