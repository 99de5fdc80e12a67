package matrix

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"jmpi/dist/comm"
	"jmpi/internal/parallel"
	"jmpi/kernels"
)

// Part is a rectangle of a matrix in the memory of a host: rows Row ≤ i < Row+M, columns Column ≤ j <
// Column+N, column-major with leading dimension Ld ≥ M.
type Part struct {
	Row, Column, M, N, Ld int
	Data                  []float64
}

// Source is where a matrix comes from.
type Source struct {
	// Read writes a part of the matrix to its Data. Several goroutines call it.
	Read    func(Part) error
	Threads int // that may call it
	Reading
}

// Reading says in which parts a matrix is to be read.
type Reading struct {
	// Whole says that reading a part takes as long as reading all, so that the parts should be few and large.
	Whole bool
	// Band is the number of rows that are to be read, in whatever parts, before the next rows; 0: in any order.
	// A band begins at a multiple of it.
	Band int
}

// Traffic is how long a rank has waited for matrices that came from files and went to files, in seconds.
// Files and devices are busy at the same time. What passed is shared between them as their threads have
// spent it.
type Traffic struct{ Read, Upload, Download, Write float64 }

const (
	// pieceBytes is the size of what is copied at a time: much for a file and for a link, little for a host.
	pieceBytes = 4 << 20
	// laneLimit is how many threads read or write at most: with fewer than that a link is busy.
	laneLimit = 8
)

// piece is a part of a matrix on a device of this rank.
type piece struct {
	dev         *device
	row, column int
	at          kernels.Panel
	use         func(Part) error // what is done with it on the host
}

// cut cuts a piece into some of m×n at most, the rows of the first columns first.
func (p piece) cut(m, n int) (all []piece) {
	for j := 0; j < p.at.N; j += n {
		for i := 0; i < p.at.M; i += m {
			at := p.at.Rows(i, min(i+m, p.at.M)).Columns(j, min(j+n, p.at.N))
			all = append(all, piece{p.dev, p.row + i, p.column + j, at, p.use})
		}
	}
	return all
}

// broad cuts a piece by its rows. Files by rows and by columns both have numbers in a row then.
func (p piece) broad() []piece {
	return p.cut(max(1, pieceBytes/kernels.WordBytes/max(1, p.at.N)), max(1, p.at.N))
}

// banded cuts a piece where bands of so many rows begin.
func (p piece) banded(band int) (all []piece) {
	for i := 0; i < p.at.M; {
		next := min((p.row+i)/band*band+band-p.row, p.at.M)
		all = append(all, piece{p.dev, p.row + i, p.column, p.at.Rows(i, next), p.use}.broad()...)
		i = next
	}
	return all
}

// long cuts a piece by its columns, as files of columns have them.
func (p piece) long() []piece {
	const numbers = pieceBytes / kernels.WordBytes
	return p.cut(numbers, max(1, numbers/max(1, p.at.M)))
}

// pieces returns the blocks of this rank.
func (s *Matrix) pieces() (all []piece) {
	for b := range s.blocks() {
		if dev := s.here(s.owner(b)); dev != nil {
			j0, _ := s.span(b)
			all = append(all, piece{dev: dev, column: j0, at: s.block(b)})
		}
	}
	return all
}

// pieces returns the slabs of this rank.
func (s *Slabs) pieces() (all []piece) {
	for i, dev := range s.own {
		from, to := s.slabsOf(s.first + i)
		for slab := from; slab < to; slab++ {
			i0, _ := s.span(slab)
			all = append(all, piece{dev: dev, row: i0, at: s.slab(slab)})
		}
	}
	return all
}

// Load returns the matrix of which a source has the parts. A rank reads those of its own blocks.
func (d *Devices) Load(m, n int, from Source) (*Matrix, error) {
	s, err := d.New(m, n)
	if err != nil || m == 0 {
		return s, err
	}
	return s, d.load(s.pieces(), from)
}

// load fills pieces from a source.
func (d *Devices) load(whole []piece, from Source) error {
	var all []piece
	for _, p := range whole {
		switch p.use = from.Read; {
		case from.Whole:
			all = append(all, p)
		case from.Band > 0:
			all = append(all, p.banded(from.Band)...)
		default:
			all = append(all, p.broad()...)
		}
	}
	if from.Band > 0 {
		slices.SortStableFunc(all, func(p, q piece) int { return p.row/from.Band - q.row/from.Band })
	}
	threads := from.Threads
	if from.Whole {
		threads = 1
	}
	outside, copying, err := d.stream(all, threads, func(p piece, x Part) error {
		return wrapped("a copy to a device", p.dev.Write(p.at, x.Data, x.Ld))
	}, false)
	d.Traffic.Read += outside
	d.Traffic.Upload += copying
	return err
}

// Sink is a matrix that is to be stored, by a function that gets its parts.
type Sink struct {
	pieces []piece
	write  func(Part) error
}

// Sink says what stores the parts of the matrix that this rank has.
func (s *Matrix) Sink(write func(Part) error) Sink { return Sink{s.pieces(), write} }

// Sink is that of Matrix; after Expand it is for the slabs of U.
func (s *Slabs) Sink(write func(Part) error) Sink { return Sink{s.pieces(), write} }

// ColumnsSink is a Sink of columns in panels of this rank's devices: column k of a panel is column To[k] of a
// matrix of so many columns, or none of it.
func (d *Devices) ColumnsSink(from []Columns, count int, write func(Part) error) Sink {
	var all []piece
	var to []int
	for _, c := range from {
		dev := d.here(c.Device)
		for a := 0; dev != nil && a < len(c.To); a++ {
			b := a
			for b < len(c.To) && c.To[b] < count {
				b++
			}
			if a < b {
				all = append(all, piece{dev: dev, column: len(to), at: c.Panel.Columns(a, b)})
				to = append(to, c.To[a:b]...)
			}
			a = b
		}
	}
	return Sink{all, func(x Part) error {
		for k := range x.N {
			one := x
			one.Column, one.N, one.Data = to[x.Column+k], 1, x.Data[k*x.Ld:]
			if err := write(one); err != nil {
				return err
			}
		}
		return nil
	}}
}

// Store calls the functions of sinks with the parts that this rank has, from so many goroutines at most. They
// must not change a part, and keep it only until they return. The sinks take turns: files that are written
// one after the other take longer.
func (d *Devices) Store(threads int, sinks ...Sink) error {
	if err := d.Sync(); err != nil {
		return err
	}
	lists, longest := make([][]piece, len(sinks)), 0
	for i, sink := range sinks {
		for _, p := range sink.pieces {
			p.use = sink.write
			lists[i] = append(lists[i], p.long()...)
		}
		longest = max(longest, len(lists[i]))
	}
	var all []piece
	for k := range longest {
		for _, list := range lists {
			if k < len(list) {
				all = append(all, list[k])
			}
		}
	}
	outside, copying, err := d.stream(all, threads, func(p piece, x Part) error {
		return wrapped("a copy from a device", p.dev.Read(x.Data, x.Ld, p.at))
	}, true)
	d.Traffic.Write += outside
	d.Traffic.Download += copying
	return err
}

// wrapped says what has failed.
func wrapped(what string, err error) error {
	if err != nil {
		err = fmt.Errorf("matrix: %s: %w", what, err)
	}
	return err
}

// ByReflectors tells whether Reduce took reflectors, not the Gram matrix; false for no slabs.
func (s *Slabs) ByReflectors() bool { return s != nil && s.byReflectors }

// ScaleColumns multiplies column j by columns[j].
func (s *Slabs) ScaleColumns(columns []float64) error {
	return s.eachSlab(func(_ int, dev *device, slab int) error { return dev.Scale(s.slab(slab), nil, columns) })
}

// Sync waits until the devices of this rank are done.
func (d *Devices) Sync() error {
	return d.each(func(_ int, dev *device) error { return dev.Sync() })
}

// stream brings pieces from the devices to the host, or from it, several at a time. Each goes through memory
// of the host that the devices copy to at full speed. Where the memory of a device is that of the host, it is
// used as it is. outside is what is done on the host. It returns the seconds that passed, shared between that
// and the copies.
func (d *Devices) stream(all []piece, threads int, move func(piece, Part) error,
	out bool) (outside, copying float64, err error) {
	if len(all) == 0 {
		return 0, 0, nil
	}
	begin := time.Now()
	lanes := min(max(1, threads), laneLimit, len(all))
	buffers, err := d.buffers(lanes, all)
	if err != nil {
		return 0, 0, err
	}
	var spent [2]atomic.Int64 // by all lanes: outside, and for copies
	err = parallel.Workers(lanes, len(all), func(lane, i int) error {
		p := all[i]
		x := Part{p.row, p.column, p.at.M, p.at.N, p.at.M, nil}
		work := []func() error{func() error { return p.use(x) }, func() error { return move(p, x) }}
		order := []int{0, 1}
		switch {
		case buffers == nil:
			x.Ld, x.Data = p.at.Ld, comm.HostFloats(p.at.Data, int(extent(p.at)/kernels.WordBytes))
			order = order[:1]
		case out:
			order = []int{1, 0}
			fallthrough
		default:
			x.Data = comm.HostFloats(buffers[lane], p.at.M*p.at.N)
		}
		for _, k := range order {
			start := time.Now()
			if err := work[k](); err != nil {
				return err
			}
			spent[k].Add(int64(time.Since(start)))
		}
		return nil
	})
	if err != nil {
		return 0, 0, err // a device may still use the buffers: Close gives them back
	}
	for _, a := range buffers {
		if err := d.own[0].FreeHost(a); err != nil {
			return 0, 0, err
		}
	}
	passed := time.Since(begin).Seconds()
	share := float64(spent[1].Load()) / float64(max(1, spent[0].Load()+spent[1].Load()))
	return passed * (1 - share), passed * share, nil
}

// buffers returns memory of the host for one piece of each lane, none where the devices have no memory of
// their own.
func (d *Devices) buffers(lanes int, all []piece) ([]kernels.Address, error) {
	if d.HostMemory() {
		return nil, nil
	}
	bytes := int64(0)
	for _, p := range all {
		bytes = max(bytes, int64(p.at.M)*int64(p.at.N)*kernels.WordBytes)
	}
	var buffers []kernels.Address
	for range lanes {
		a, err := d.own[0].AllocHost(bytes)
		if err != nil {
			return nil, fmt.Errorf("matrix: memory of the host for copies: %w", err)
		}
		buffers = append(buffers, a)
	}
	return buffers, nil
}
