package comm

import (
	"errors"
	"fmt"
	"math"
)

// ErrTooLong is returned by Allgather on every rank, before anything is sent, if all b together have
// more bytes than MPI can count (2³¹ − 1). The communicator stays usable.
var ErrTooLong = errors.New("longer in all than one gather can carry; send it in parts")

// errClosed is the cause of every call after Close.
var errClosed = errors.New("the communicator is closed")

// CommError says which call of a Comm failed, and why. Peer and Tag are −1 in collective calls.
type CommError struct {
	Op   string // "send", "receive", "allreduce", "allgather", "start", "close", "do", "watch"
	Rank int    // the rank that reports
	Peer int    // the other rank of a message
	Tag  int
	Err  error
}

func (e *CommError) Error() string {
	if e.Peer < 0 && e.Tag < 0 {
		return fmt.Sprintf("rank %d: %s: %v", e.Rank, e.Op, e.Err)
	}
	direction := "to"
	if e.Op == opReceive {
		direction = "from"
	}
	return fmt.Sprintf("rank %d: %s %s rank %d, tag %d: %v", e.Rank, e.Op, direction, e.Peer, e.Tag, e.Err)
}

func (e *CommError) Unwrap() error { return e.Err }

// The values of CommError.Op.
const (
	opStart     = "start"
	opSend      = "send"
	opReceive   = "receive"
	opAllreduce = "allreduce"
	opAllgather = "allgather"
	opBcast     = "bcast"
	opClose     = "close"
	opDo        = "do"
	opWatch     = "watch"
)

// collectiveError is the CommError of a call without a peer; nil stays nil.
func collectiveError(op string, rank int, err error) error {
	if err == nil {
		return nil
	}
	return &CommError{Op: op, Rank: rank, Peer: -1, Tag: -1, Err: err}
}

// checkMessage returns what is wrong with a message's arguments in a communicator of this size.
func checkMessage(bytes int64, peer, tag, size int) error {
	switch {
	case peer < 0 || peer >= size:
		return fmt.Errorf("there are only the ranks 0 to %d", size-1)
	case tag < 0 || tag > math.MaxInt32:
		return fmt.Errorf("tags go from 0 to %d", math.MaxInt32)
	case bytes < 0:
		return fmt.Errorf("%d bytes is not a length", bytes)
	}
	return nil
}

// checkRoot refuses what is no rank.
func checkRoot(root, size int) error {
	if root < 0 || root >= size {
		return fmt.Errorf("the root %d is none of %d ranks", root, size)
	}
	return nil
}

// gatherLimit is the largest number of bytes that one Allgather carries.
var gatherLimit int64 = math.MaxInt32

// checkGather returns ErrTooLong if the parts of an Allgather have too many bytes in all.
func checkGather(lengths []int64) error {
	total := int64(0)
	for _, length := range lengths {
		total += length
	}
	if total > gatherLimit {
		return fmt.Errorf("%d bytes: %w", total, ErrTooLong)
	}
	return nil
}
