package matrix

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"jmpi/dist/comm"
	"jmpi/internal/parallel"
	"jmpi/kernels"
)

// Devices are where matrices lie: the devices of all ranks, which are of one kind. They are numbered by rank.
type Devices struct {
	Comm    comm.Comm
	Traffic Traffic // of this rank

	own   []*device // of this rank
	first int       // number of this rank's first device
	ranks []int     // of each device
	tile  int       // columns of a block
	// messages between ranks may lie in the memory of the devices; otherwise they pass through that of the
	// hosts
	direct bool
	crew   parallel.Crew // what queues work on the devices of this rank
}

// device is one of this rank.
type device struct {
	kernels.Backend
	memory memory
	inbox  landing // for what flies to this device
	outbox landing // for what flies from it, and for messages that are to be taken apart
	mail   buffer  // of the host, for a message that is not direct
}

// NewDevices numbers the devices of all ranks. direct says that messages between ranks may lie in the
// memory of the devices. It is collective.
func NewDevices(world comm.Comm, backends []kernels.Backend, direct bool) (*Devices, error) {
	all, err := comm.Gather(world, []float64{float64(len(backends))})
	if err != nil {
		return nil, fmt.Errorf("matrix: devices: %w", err)
	}
	d := &Devices{Comm: world, tile: backends[0].Limits().Tile, direct: direct}
	if !backends[0].Limits().HostMemory && runtime.GOMAXPROCS(0) >= 2*len(backends) {
		d.crew.Awake, d.crew.Patience = awake, patience
	}
	for rank, count := range all {
		if rank == world.Rank() {
			d.first = len(d.ranks)
		}
		for range int(count[0]) {
			d.ranks = append(d.ranks, rank)
		}
	}
	for _, be := range backends {
		one := landing{one: len(d.ranks) == 1 || be.Limits().HostMemory}
		d.own = append(d.own, &device{Backend: be, inbox: one, outbox: one})
	}
	return d, nil
}

// fewBlocks is how many blocks a matrix has at least where they become wider.
const fewBlocks = 16

// Widen makes blocks wider on hosts, for matrices of n columns. It is called before there is a matrix.
func (d *Devices) Widen(n int) { d.tile = max(d.tile, Tile(d.own[0].Limits(), n)) }

// Tile returns the width of the blocks of matrices with n columns. On hosts it grows with n: products with
// more columns at a time are faster.
func Tile(l kernels.Limits, n int) int {
	tile := l.Tile
	for l.HostMemory && tile < passColumns && n >= fewBlocks*2*tile {
		tile *= 2
	}
	return tile
}

// Free gives back all memory of matrices, when the messages that leave from it have been received.
func (d *Devices) Free() error {
	err := d.trim()
	for _, dev := range d.own {
		err = errors.Join(err, dev.freeAll())
	}
	if err != nil {
		return fmt.Errorf("matrix: free: %w", err)
	}
	return nil
}

// awake is how long a thread that has queued work on a GPU waits for the next one: longer than what the host
// does between two calls of each, mostly. patience is how long that which has called each waits for the
// others: as long as a few products take.
const awake, patience = time.Millisecond, 20 * time.Millisecond

// each calls f for the devices of this rank, all at a time.
func (d *Devices) each(f func(i int, dev *device) error) error {
	return d.crew.Each(len(d.own), func(i int) error { return f(i, d.own[i]) })
}

// beside calls f, and queues what f calls on the devices of this rank beside what else is queued there,
// behind a mark of each. It returns marks of it.
func (d *Devices) beside(after []kernels.Mark, f func() error) ([]kernels.Mark, error) {
	marks := make([]kernels.Mark, len(d.own))
	for i, dev := range d.own {
		inner := f
		f = func() (err error) {
			marks[i], err = dev.Beside(inner, after[i])
			return err
		}
	}
	return marks, f()
}

// meet lets the devices of this rank wait for all that was called beside.
func (d *Devices) meet() error {
	return d.each(func(_ int, dev *device) error {
		m, err := dev.Beside(func() error { return nil })
		return errors.Join(err, dev.Follow(m))
	})
}

// HostMemory tells whether the devices have the memory of the hosts.
func (d *Devices) HostMemory() bool { return d.own[0].Limits().HostMemory }

// here returns the device of this number if it is this rank's, nil otherwise.
func (d *Devices) here(id int) *device {
	if i := id - d.first; i >= 0 && i < len(d.own) {
		return d.own[i]
	}
	return nil
}

// indexOf returns the number of a device in this rank.
func (d *Devices) indexOf(dev *device) int { return slices.Index(d.own, dev) }

// tiled cuts a panel into tiles of columns.
func (d *Devices) tiled(p kernels.Panel) (all []kernels.Panel) {
	for j := 0; j < p.N; j += d.tile {
		all = append(all, p.Columns(j, min(j+d.tile, p.N)))
	}
	return all
}

// drop gives the memory of buffers back, one of each device of this rank.
func (d *Devices) drop(all []buffer) error {
	return d.each(func(i int, dev *device) error { return dev.release(all[i].at) })
}

// trim gives the memory of what was on its way back.
func (d *Devices) trim() error {
	return d.each(func(_ int, dev *device) error {
		return errors.Join(dev.Sync(), dev.inbox.free(dev), dev.outbox.free(dev), dev.freePost())
	})
}

// owner returns the device that has block b.
func (d *Devices) owner(b int) int { return b % len(d.ranks) }

// home returns the device that has column j, and where in its share.
func (d *Devices) home(j int) (id, at int) {
	b := j / d.tile
	return d.owner(b), b/len(d.ranks)*d.tile + j%d.tile
}

// New returns a zero matrix.
func (d *Devices) New(m, n int) (*Matrix, error) {
	s := &Matrix{Devices: d, M: m, N: n, shares: make([]kernels.Panel, len(d.own))}
	err := d.each(func(i int, dev *device) (err error) {
		s.shares[i], err = dev.panel(m, s.countOf(s.first+i))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("matrix: %d×%d: %w", m, n, err)
	}
	return s, nil
}

// UnitColumns returns so many columns of the identity of order m, from the given one on.
func (d *Devices) UnitColumns(m, from, count int) (*Matrix, error) {
	s, err := d.New(m, count)
	if err != nil {
		return s, err
	}
	return s, s.eachBlock(func(dev *device, b int, p kernels.Panel) error {
		j0, _ := s.span(b)
		return dev.Identity(p, from+j0)
	})
}

// Scatter returns the m×n matrix of the columns that each rank has in the memory of its host, by number, and
// takes them away. It is collective.
func (d *Devices) Scatter(m, n int, columns map[int][]float64) (*Matrix, error) {
	s, err := d.New(m, n)
	if err != nil {
		return nil, err
	}
	for b := range s.blocks() {
		j0, j1 := s.span(b)
		var mine []float64
		for j := j0; j < j1; j++ {
			if x := columns[j]; x != nil {
				mine = append(append(mine, float64(j)), x...)
				delete(columns, j)
			}
		}
		all, err := comm.Gather(d.Comm, mine)
		if err != nil {
			return nil, err
		}
		dev := d.here(d.owner(b))
		if dev == nil {
			continue
		}
		host := make([]float64, m*(j1-j0))
		for _, part := range all {
			for ; len(part) > m; part = part[m+1:] {
				copy(host[(int(part[0])-j0)*m:], part[1:m+1])
			}
		}
		if err := dev.Write(s.block(b), host, max(1, m)); err != nil {
			return nil, err
		}
	}
	return s, nil
}
