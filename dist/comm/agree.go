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

// Failure is the error of one rank, known to all.
type Failure struct {
	Rank int
	Kind Kind
	Text string
}

func (f *Failure) Error() string {
	return fmt.Sprintf("rank %d: %s", f.Rank, f.Text)
}

// Agree makes the failure of any rank the failure of all: every rank calls it with its own error (nil
// for none) and its kind, and every rank gets the same answer: nil, or the *Failure of the lowest rank
// among the most basic kind. A panic is nothing to agree on: it goes on, and ends all ranks.
func Agree(c Comm, kind Kind, err error) error {
	var mine []byte
	if lost := (*parallel.Panic)(nil); errors.As(err, &lost) {
		panic(lost)
	}
	if err != nil {
		mine = binary.LittleEndian.AppendUint64(nil, uint64(kind))
		mine = append(mine, err.Error()...)
	}
	all, e := c.Allgather(mine)
	if e != nil {
		return fmt.Errorf("comm: agreement: %w", e)
	}
	var worst *Failure
	for rank, b := range all {
		if len(b) < 8 {
			continue
		}
		f := &Failure{Rank: rank, Kind: Kind(binary.LittleEndian.Uint64(b)), Text: string(b[8:])}
		if worst == nil || f.Kind < worst.Kind {
			worst = f
		}
	}
	if worst == nil {
		return nil
	}
	return worst
}
