package exchange

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"jmpi/dist/comm"
	"jmpi/kernels"
)

// Row is the time of one kind of exchange.
type Row struct {
	Path     string // "host", "direct", "staged": between ranks; "peer": between the devices of each rank
	BothWays bool   // false: every other rank (or device) sends to the next; true: all do, around the ring
	Bytes    int64  // of a message
	// from post to completion of all messages of the slowest rank, the median of the repetitions
	Seconds float64
	GBs     float64 // 10⁹ bytes per second in one direction of one rank (or device)
}

// exchangeRepetitions of each row are timed, after one that is checked.
// benchChunk is the length of the chunks of staged messages, 0: the usual one. A variable for the tests.
var benchChunk int64

const exchangeRepetitions = 9

// Bench times exchanges of device memory along every path that there is: between the first devices of the
// ranks directly, where transport says so, and staged where device memory is not host memory; between the
// devices of each rank by peer copies. Sizes are multiples of 8. The bytes are compared once for each row. It
// is collective, and every rank gets the same rows.
func Bench(c comm.Comm, devices []kernels.Backend, transport Transport, sizes []int64) ([]Row, error) {
	b := &exchangeBench{comm: c, devices: devices}
	if err := b.census(transport); err != nil {
		return nil, err
	}
	if err := comm.Agree(c, comm.BadResource, b.alloc(slices.Max(sizes))); err != nil {
		return nil, err
	}
	var rows []Row
	for _, path := range b.paths {
		for _, both := range []bool{false, true} {
			for _, bytes := range sizes {
				row, err := b.time(path, both, bytes)
				if err != nil {
					return nil, err
				}
				rows = append(rows, row)
			}
		}
	}
	return rows, b.free()
}

// exchangeBench is what one rank has for Bench.
type exchangeBench struct {
	comm    comm.Comm
	devices []kernels.Backend
	first   int   // number among all of this rank's first device
	rank    []int // of each device
	starts  []int // number of the first device of each rank
	paths   []string
	memory  []benchMemory // of this rank's devices
}

// benchMemory is what a device sends and receives.
type benchMemory struct {
	send, receive kernels.Address
	*pattern
}

// census tells every rank of all devices, and finds the paths.
func (b *exchangeBench) census(transport Transport) error {
	mine := binary.LittleEndian.AppendUint64(nil, uint64(len(b.devices)))
	if !b.devices[0].Limits().HostMemory {
		mine = append(mine, 1)
	}
	all, err := b.comm.Allgather(mine)
	if err != nil {
		return fmt.Errorf("exchange: exchange: %w", err)
	}
	host, peers := true, false
	for r, part := range all {
		b.starts = append(b.starts, len(b.rank))
		count := int(binary.LittleEndian.Uint64(part))
		b.rank = append(b.rank, slices.Repeat([]int{r}, count)...)
		host = host && len(part) == 8
		peers = peers || count > 1
	}
	b.first = b.starts[b.comm.Rank()]
	if b.comm.Size() > 1 {
		switch {
		case host:
			b.paths = append(b.paths, "host")
		case transport.Direct:
			b.paths = append(b.paths, "direct", "staged")
		default:
			b.paths = append(b.paths, "staged")
		}
	}
	if peers {
		b.paths = append(b.paths, "peer")
	}
	return nil
}

func (b *exchangeBench) alloc(longest int64) error {
	for _, be := range b.devices {
		p, err := newPattern(be, min(longest, StageBytes))
		if err != nil {
			return err
		}
		b.memory = append(b.memory, benchMemory{pattern: p})
		m := &b.memory[len(b.memory)-1]
		if m.send, err = be.Alloc(longest); err != nil {
			return err
		}
		if m.receive, err = be.Alloc(longest); err != nil {
			return err
		}
		if err := be.Sync(); err != nil { // they are zero
			return err
		}
	}
	return nil
}

// free gives the memory back when all is done. After an error messages may be under way, and the memory is
// left to Close of the devices.
func (b *exchangeBench) free() (err error) {
	for i, m := range b.memory {
		err = errors.Join(err, m.pattern.free(), b.devices[i].Free(m.send), b.devices[i].Free(m.receive))
	}
	return err
}

// time runs one row.
func (b *exchangeBench) time(path string, both bool, bytes int64) (row Row, err error) {
	run, end := context.WithCancelCause(context.Background())
	x := New(run, end, b.comm, b.rank, benchChunk)
	failed := true // by an error or a panic
	defer func() {
		if failed {
			end(err)
			err = fmt.Errorf("exchange: exchange of %d bytes, %s: %w", bytes, path, err)
		}
		err = errors.Join(err, x.Close())
		end(nil)
	}()
	if path == "staged" {
		err = x.Stage(b.first, b.devices[0], bytes)
	}
	pairs := b.pairs(path == "peer", both)
	if err == nil {
		err = b.prepare(pairs, bytes)
	}
	if err := comm.Agree(b.comm, comm.BadResource, err); err != nil {
		return row, err
	}
	if err := b.exchange(x, pairs, bytes); err != nil {
		return row, err
	}
	if err := comm.Agree(b.comm, comm.BadResource, b.check(pairs, bytes)); err != nil {
		return row, err
	}
	var seconds []float64
	for range exchangeRepetitions {
		start := time.Now()
		if err := b.exchange(x, pairs, bytes); err != nil {
			return row, err
		}
		slowest := []int64{int64(time.Since(start))}
		if err := b.comm.AllreduceMax(slowest); err != nil { // a barrier too
			return row, err
		}
		seconds = append(seconds, float64(slowest[0])/1e9)
	}
	slices.Sort(seconds)
	median := seconds[len(seconds)/2]
	failed = false
	return Row{path, both, bytes, median, float64(bytes) / median / 1e9}, nil
}

// pairs returns who sends to whom: the first devices of the ranks, or the devices within each rank.
func (b *exchangeBench) pairs(peer, both bool) (pairs [][2]int) {
	ring := func(devices []int) {
		for i, from := range devices {
			if to := devices[(i+1)%len(devices)]; to != from && (both || i%2 == 0 && i+1 < len(devices)) {
				pairs = append(pairs, [2]int{from, to})
			}
		}
	}
	if !peer {
		ring(b.starts)
		return pairs
	}
	for r, first := range b.starts {
		var devices []int
		for d := first; d < len(b.rank) && b.rank[d] == r; d++ {
			devices = append(devices, d)
		}
		ring(devices)
	}
	return pairs
}

// each calls f for every pair with the memory of the end on this rank, once for each end that is.
func (b *exchangeBench) each(pairs [][2]int,
	f func(from, to int, sends bool, be kernels.Backend, m benchMemory) error) error {
	for _, p := range pairs {
		for end, device := range p {
			if b.rank[device] == b.comm.Rank() {
				i := device - b.first
				if err := f(p[0], p[1], end == 0, b.devices[i], b.memory[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (b *exchangeBench) prepare(pairs [][2]int, bytes int64) error {
	return b.each(pairs, func(from, _ int, sends bool, _ kernels.Backend, m benchMemory) error {
		if sends {
			return m.write(m.send, bytes, int64(from))
		}
		return m.clear(m.receive, bytes)
	})
}

func (b *exchangeBench) check(pairs [][2]int, bytes int64) error {
	return b.each(pairs, func(from, _ int, sends bool, _ kernels.Backend, m benchMemory) error {
		if sends {
			return nil
		}
		return m.check(m.receive, bytes, int64(from))
	})
}

// exchange posts all messages of this rank and waits for them.
func (b *exchangeBench) exchange(x *Exchange, pairs [][2]int, bytes int64) error {
	n := int(bytes / kernels.WordBytes)
	var messages []*Message
	var last kernels.Backend
	err := b.each(pairs, func(from, to int, sends bool, be kernels.Backend, m benchMemory) error {
		last = be
		if sends {
			messages = append(messages, x.Send(be, from, to, Label{},
				kernels.Panel{M: n, N: 1, Ld: n, Data: m.send}, 0))
		} else {
			messages = append(messages, x.Receive(be, from, to, Label{},
				kernels.Panel{M: n, N: 1, Ld: n, Data: m.receive}, nil))
		}
		return nil
	})
	marks, e := x.Wait("exchange", messages)
	if err = errors.Join(err, e); err == nil && len(marks) > 0 {
		err = last.Await(marks...)
	}
	return err
}
