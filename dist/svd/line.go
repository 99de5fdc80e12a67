package svd

import (
	"fmt"
	"os"
	"sync"

	"jmpi/dist/comm"
	"jmpi/kernels"
)

// Tags of messages. The sweeps, during which requests may come, have smaller ones.
const (
	requestTag = 32766
	replyTag   = 32765
	vectorTag  = 32764
)

// faultCode is the exit code of all ranks after a fault of this package in a goroutine, as of the command.
const faultCode = 6

// line is a way for messages to one other rank, and from it. It has memory outside of the Go heap, as
// messages need it.
type line struct {
	comm comm.Comm
	peer int
	mu   sync.Mutex // held by who has more to say than one message
	mem  []byte
}

// room returns memory for so many numbers. It is good until the next call.
func (l *line) room(n int) ([]float64, error) {
	if bytes := n * kernels.WordBytes; len(l.mem) < bytes {
		l.free()
		var err error
		if l.mem, err = comm.NewBuffer(bytes); err != nil {
			return nil, err
		}
	}
	return comm.HostFloats(comm.HostAddress(l.mem), n), nil
}

// send sends the first n numbers of the memory.
func (l *line) send(tag, n int) error {
	return l.comm.Isend(comm.HostAddress(l.mem), int64(n)*kernels.WordBytes, l.peer, tag).Wait()
}

// tell sends some numbers.
func (l *line) tell(tag int, x ...float64) error {
	mem, err := l.room(len(x))
	if err != nil {
		return err
	}
	copy(mem, x)
	return l.send(tag, len(x))
}

// receive receives n numbers into the memory.
func (l *line) receive(tag, n int) ([]float64, error) {
	mem, err := l.room(n)
	if err != nil {
		return nil, err
	}
	return mem, l.comm.Irecv(comm.HostAddress(l.mem), int64(n)*kernels.WordBytes, l.peer, tag).Wait()
}

func (l *line) free() {
	if l.mem != nil {
		comm.FreeBuffer(l.mem)
	}
	l.mem = nil
}

// lines returns a line to every rank.
func lines(c comm.Comm) []*line {
	all := make([]*line, c.Size())
	for rank := range all {
		all[rank] = &line{comm: c, peer: rank}
	}
	return all
}

// lost ends all ranks after a panic of a goroutine that sends or receives for others: they would wait for it.
// It is a fault of this package.
func lost(c comm.Comm, fault error) error {
	fmt.Fprintf(os.Stderr, "svd: rank %d: %v\n", c.Rank(), fault)
	c.Abort(faultCode)
	return fault
}

// freeAll frees the memory of lines.
func freeAll(all []*line) {
	for _, l := range all {
		l.free()
	}
}
