package comm

import (
	"encoding/binary"
	"errors"
	"fmt"

	"jmpi/internal/parallel"
)

// Kind says what failed, so that a command can choose its exit code.
type Kind int64

// The kinds of failure, in the order in which they win where ranks fail differently at the same point.
const (
	Fine        Kind = iota
	BadUse           // an impossible combination of options
	BadInput         // the input or the target cannot be used
	BadResource      // a device, library, memory or file system failed

	NoDecomposition // what was asked for does not exist
	Stopped         // the run was asked to stop, and a checkpoint is complete
)

// inputError is an error of the input.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

// Input marks an error of the input: other errors on its way to a device are of the device.
func Input(err error) error {
	if err == nil {
		return nil
	}
	return inputError{err}
}

// KindOf returns BadInput for an error that is marked so, and BadResource for any other.
func KindOf(err error) Kind {
	if errors.As(err, &inputError{}) {
		return BadInput
	}
	return BadResource
}

// Failure is the error of one rank, known to all.
type Failure struct {
	Rank int
	Host string // of the rank; empty where Text names it
	Kind Kind
	Text string
}

func (f *Failure) Error() string {
	if f.Host == "" {
		return fmt.Sprintf("rank %d: %s", f.Rank, f.Text)
	}
	return fmt.Sprintf("rank %d on %s: %s", f.Rank, f.Host, f.Text)
}

// Agree makes the failure of any rank the failure of all: every rank calls it with its own error (nil
// for none) and its kind, and every rank gets the same answer: nil, or the *Failure of the lowest rank
// among the most basic kind. A panic is nothing to agree on: it goes on, and ends all ranks. Neither is an
// error of a step in which others may still wait for a message of this rank: they do not come here. Its
// caller returns it as it is, and it ends all ranks by Abort.
func Agree(c Comm, kind Kind, err error) error {
	var mine []byte
	if lost := (*parallel.Panic)(nil); errors.As(err, &lost) {
		panic(lost)
	}
	if err != nil {
		host := c.Node()
		mine = binary.LittleEndian.AppendUint64(nil, uint64(kind))
		mine = binary.LittleEndian.AppendUint64(mine, uint64(len(host)))
		mine = append(append(mine, host...), err.Error()...)
	}
	all, e := c.Allgather(mine)
	if e != nil {
		return fmt.Errorf("comm: agreement: %w", e)
	}
	var worst *Failure
	for rank, b := range all {
		if len(b) == 0 {
			continue
		}
		kind, rest := Kind(binary.LittleEndian.Uint64(b)), b[16:]
		host := binary.LittleEndian.Uint64(b[8:])
		f := &Failure{Rank: rank, Host: string(rest[:host]), Kind: kind, Text: string(rest[host:])}
		if worst == nil || f.Kind < worst.Kind {
			worst = f
		}
	}
	if worst == nil {
		return nil
	}
	return worst
}
