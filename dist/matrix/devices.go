package matrix

import (
	"errors"
	"fmt"
	"slices"
	"sync"

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
	// messages between ranks may lie in the memory of the devices; otherwise they pass through that of the hosts
	direct bool
}

// device is one of this rank.
type device struct {
	kernels.Backend
	mu     sync.Mutex
	memory map[kernels.Address]bool // what matrices have of it
	inbox  buffer                   // for what another device has sent to all
	outbox buffer                   // for what is on its way to or from one other device
}

// buffer is device memory that grows as needed. What it holds is valid until it is asked for again.
type buffer struct {
	at    kernels.Address
	bytes int64
}

// NewDevices numbers the devices of all ranks. direct says that messages between ranks may lie in the
// memory of the devices. It is collective.
func NewDevices(world comm.Comm, backends []kernels.Backend, direct bool) (*Devices, error) {
	all, err := comm.Gather(world, []float64{float64(len(backends))})
	if err != nil {
		return nil, fmt.Errorf("matrix: devices: %w", err)
	}
	d := &Devices{Comm: world, tile: backends[0].Limits().Tile, direct: direct}
	for rank, count := range all {
		if rank == world.Rank() {
			d.first = len(d.ranks)
		}
		for range int(count[0]) {
			d.ranks = append(d.ranks, rank)
		}
	}
	for _, be := range backends {
		d.own = append(d.own, &device{Backend: be, memory: map[kernels.Address]bool{}})
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

// Free gives back all memory of matrices.
func (d *Devices) Free() error {
	var err error
	for _, dev := range d.own {
		err = errors.Join(err, dev.Sync())
		for a := range dev.memory {
			err = errors.Join(err, dev.Backend.Free(a))
		}
		dev.memory, dev.inbox, dev.outbox = map[kernels.Address]bool{}, buffer{}, buffer{}
	}
	if err != nil {
		return fmt.Errorf("matrix: free: %w", err)
	}
	return nil
}

// each calls f for the devices of this rank, all at a time.
func (d *Devices) each(f func(i int, dev *device) error) error {
	return parallel.Each(len(d.own), len(d.own), func(i int) error { return f(i, d.own[i]) })
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

// alloc returns zeroed memory.
func (dev *device) alloc(bytes int64) (kernels.Address, error) {
	a, err := dev.Alloc(bytes)
	if err != nil {
		return 0, err
	}
	dev.mu.Lock()
	defer dev.mu.Unlock()
	dev.memory[a] = true
	return a, nil
}

// release gives memory back, once.
func (dev *device) release(a kernels.Address) error {
	dev.mu.Lock()
	defer dev.mu.Unlock()
	if !dev.memory[a] {
		return nil
	}
	delete(dev.memory, a)
	return dev.Backend.Free(a)
}

// panel returns a zero m×n matrix in memory of its own.
func (dev *device) panel(m, n int) (kernels.Panel, error) {
	p := kernels.Panel{M: m, N: n, Ld: dev.leading(m)}
	var err error
	p.Data, err = dev.alloc(p.Bytes())
	return p, err
}

// leading returns the leading dimension of a matrix with m rows. On a GPU it is aligned.
func (dev *device) leading(m int) int {
	l := dev.Limits()
	if l.HostMemory {
		return max(m, 1)
	}
	return max(1, (m+l.Align-1)/l.Align) * l.Align
}

// need returns an m×n matrix in the buffer. What it held is lost, and what it holds now is undefined.
func (b *buffer) need(dev *device, m, n int) (kernels.Panel, error) {
	p := kernels.Panel{M: m, N: n, Ld: dev.leading(m)}
	if p.Bytes() > b.bytes {
		if b.bytes > 0 {
			if err := dev.Sync(); err != nil {
				return p, err
			}
			if err := dev.release(b.at); err != nil {
				return p, err
			}
		}
		*b = buffer{}
		at, err := dev.alloc(p.Bytes())
		if err != nil {
			return p, err
		}
		*b = buffer{at, p.Bytes()}
	}
	p.Data = b.at
	return p, nil
}

// drop gives the memory of buffers back, one of each device of this rank.
func (d *Devices) drop(all []buffer) error {
	return d.each(func(i int, dev *device) error { return dev.release(all[i].at) })
}

// trim gives the memory of what was on its way back.
func (d *Devices) trim() error {
	return d.each(func(_ int, dev *device) error {
		err := errors.Join(dev.Sync(), dev.release(dev.inbox.at), dev.release(dev.outbox.at))
		dev.inbox, dev.outbox = buffer{}, buffer{}
		return err
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
		s.shares[i], err = dev.panel(m, len(s.columns(i)))
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
