package jacobi

import (
	"jmpi/dist/checkpoint"
	"jmpi/dist/comm"
	"jmpi/internal/parallel"
	"jmpi/kernels"
	"jmpi/node"
)

// The arrays of a state: the columns of G and V, and the norms with float32.
const arrayG, arrayV, arrayNorms = "G", "V", "norms"

// copyBytes is how much of a state passes at a time between a device and a file, but for columns that are
// longer.
const copyBytes = 8 << 20

// copies are what a device has of a state: a copy that lies aside, or the block-columns themselves.
type copies struct {
	be      kernels.Backend
	aside   kernels.Address // memory for all, 0 for none
	bytes   int64           // of it
	staging kernels.Address // memory for some columns, packed
	host    kernels.Address // the same, of the host; 0 where the staging is memory of the host
	limit   int64           // bytes of each
	parts   []statePart
}

// statePart are columns of an array on a device, from the one of number first on.
type statePart struct {
	array string
	first int
	panel kernels.Panel
}

// newCopies makes room for some columns.
func newCopies(be kernels.Backend, s *spread) (*copies, error) {
	c := &copies{be: be, limit: max(copyBytes, int64(kernels.WordBytes*max(s.m, s.n)))}
	var err error
	if c.staging, err = be.Alloc(c.limit); err == nil && !be.Limits().HostMemory {
		if c.host, err = be.AllocHost(c.limit); err == nil {
			err = be.Sync() // the staging is zero before anything is stored there
		}
	}
	return c, err
}

// free gives the memory back. A device that cannot do so gives it back when it is closed.
func (c *copies) free() {
	_ = c.be.Free(c.staging)
	if c.aside != 0 {
		_ = c.be.Free(c.aside)
	}
	if c.host != 0 {
		_ = c.be.FreeHost(c.host)
	}
}

// name says where the columns of the device are.
func (c *copies) name(s *spread, r *runner) error {
	c.parts = c.parts[:0]
	for slot := range node.Slots {
		column := r.dev.Column(slot)
		if column < 0 {
			continue
		}
		b := s.panels(r, slot, column)
		j0, j1 := s.layout.Macro(column)
		if j0 == j1 {
			continue
		}
		c.parts = append(c.parts, statePart{arrayG, j0, b.G})
		if b.V.N > 0 {
			c.parts = append(c.parts, statePart{arrayV, j0, b.V})
		}
		if b.Norms.N > 0 {
			c.parts = append(c.parts, statePart{arrayNorms, j0, b.Norms})
		}
	}
	return nil
}

// take copies the columns aside, or else says where they are: then they must stay until they are written.
func (c *copies) take(s *spread, r *runner, aside bool) error {
	if err := c.name(s, r); err != nil || !aside {
		return err
	}
	need := int64(0)
	for _, p := range c.parts {
		need += packed(p.panel).Bytes()
	}
	if need > c.bytes {
		if c.aside != 0 {
			if err := c.be.Free(c.aside); err != nil {
				return err
			}
		}
		c.aside, c.bytes = 0, 0
		var err error
		if c.aside, err = c.be.Alloc(need); err != nil {
			return err
		}
		c.bytes = need
	}
	at := c.aside
	for i, p := range c.parts {
		copied := packed(p.panel)
		copied.Data = at
		if err := c.be.Copy(copied, p.panel); err != nil {
			return err
		}
		c.parts[i].panel = copied
		at += kernels.Address(copied.Bytes())
	}
	return nil
}

// packed returns the shape of a panel without room between its columns.
func packed(p kernels.Panel) kernels.Panel {
	p.Ld = p.M
	return p
}

// each calls f for the columns of an array, some at a time.
func (c *copies) each(array string, f func(first int, p kernels.Panel) error) error {
	for _, p := range c.parts {
		if p.array != array {
			continue
		}
		width := p.panel.N
		if one := packed(p.panel.Columns(0, 1)).Bytes(); one > 0 {
			width = int(max(1, c.limit/one))
		}
		for a := 0; a < p.panel.N; a += width {
			if err := f(p.first+a, p.panel.Columns(a, min(a+width, p.panel.N))); err != nil {
				return err
			}
		}
	}
	return nil
}

// staged returns the staging as a panel of this shape.
func (c *copies) staged(p kernels.Panel) kernels.Panel {
	p = packed(p)
	p.Data = c.staging
	return p
}

// store writes what is here of an array.
func (c *copies) store(array string, put checkpoint.Move) error {
	return c.each(array, func(first int, p kernels.Panel) error {
		if p.Ld != p.M {
			s := c.staged(p)
			if err := c.be.Copy(s, p); err != nil {
				return err
			}
			p = s
		}
		if c.host == 0 {
			return put(first, comm.HostBytes(p.Data, p.Bytes()))
		}
		if err := c.be.Fetch(c.host, p.Data, p.Bytes()); err != nil {
			return err
		}
		return put(first, comm.HostBytes(c.host, p.Bytes()))
	})
}

// load reads what is to be here of an array.
func (c *copies) load(array string, get checkpoint.Move) error {
	return c.each(array, func(first int, p kernels.Panel) error {
		s := c.staged(p)
		host := c.host
		if host == 0 {
			host = c.staging
		}
		if err := get(first, comm.HostBytes(host, s.Bytes())); err != nil {
			return err
		}
		if c.host != 0 {
			if err := c.be.Store(s.Data, host, s.Bytes()); err != nil {
				return err
			}
		}
		return c.be.Copy(p, s)
	})
}

// eachCopies calls f for the devices of this rank, all at a time.
func eachCopies(all []*copies, f func(*copies) error) error {
	return parallel.Each(len(all), len(all), func(i int) error { return f(all[i]) })
}

// StateBytes returns the bytes of copies of the state on each of so many devices.
func (c Config) StateBytes(devices int, limits kernels.Limits) int64 {
	l := c.Node(devices, limits).Layout
	rows := c.M
	if c.Vectors {
		rows += c.N
	}
	bytes := 2*int64(l.MacroWidth())*int64(rows*c.Precision.Bytes()+kernels.WordBytes) +
		max(copyBytes, kernels.WordBytes*int64(c.M))
	if !limits.HostMemory {
		bytes *= 2 // the last state does not wait until the one before is written
	}
	return bytes
}
