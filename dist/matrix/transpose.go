package matrix

import "jmpi/kernels"

// stack is a matrix on one device, whose rows are transposes of what the devices have, one after the other.
// It lies where the next one will.
type stack struct {
	*Devices
	to     int
	target *device // nil on other ranks
	panel  kernels.Panel
	free   kernels.Mark // it may be written
}

func (d *Devices) stackOn(to, m, n int) (k stack, err error) {
	k = stack{Devices: d, to: to, target: d.here(to), panel: kernels.Panel{M: m, N: n}}
	if k.target != nil {
		k.panel, k.free, err = k.target.inbox.next(k.target, m, n)
	}
	return k, err
}

// add makes the rows from ≤ i < to of the stack of the transpose of what a device has.
func (k stack) add(id int, piece kernels.Panel, from, to int) error {
	source := k.here(id)
	if from == to || source == nil && k.target == nil {
		return nil
	}
	var rows kernels.Panel
	if k.target != nil {
		rows = k.panel.Rows(from, to)
	}
	if source == k.target {
		return source.Transpose(rows, piece)
	}
	return k.fly(flight{from: id, to: k.to, m: to - from, n: k.panel.N, dst: rows, free: k.free,
		pack: func(dev *device, p kernels.Panel) error { return dev.Transpose(p, piece) }})
}

// shareOf returns what a device has of s, nothing if it is another rank's.
func (s *Matrix) shareOf(id int) kernels.Panel {
	if s.here(id) == nil {
		return kernels.Panel{}
	}
	return s.shares[id-s.first]
}

// Transpose returns the transpose of the first m rows of s, with column j of s as row place[j]; nil stands
// for the identity. It is collective.
func (s *Matrix) Transpose(place []int, m int) (*Matrix, error) {
	t, err := s.New(s.N, m)
	if err != nil {
		return nil, err
	}
	// The columns of all devices follow one another in the rows of a stack.
	from, start := make([]int, s.N), make([]int, len(s.ranks)+1)
	for id := range s.ranks {
		columns := s.columnsOf(id)
		for k, j := range columns {
			if place != nil {
				j = place[j]
			}
			from[j] = start[id] + k
		}
		start[id+1] = start[id] + len(columns)
	}
	for b := range t.blocks() {
		if err := s.transposeBlock(t, b, start, from); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// transposeBlock makes block b of the transpose.
func (s *Matrix) transposeBlock(t *Matrix, b int, start, from []int) error {
	i0, i1 := t.span(b)
	k, err := s.stackOn(t.owner(b), s.N, i1-i0)
	for id := 0; id < len(s.ranks) && err == nil; id++ {
		err = k.add(id, s.shareOf(id).Rows(i0, i1), start[id], start[id+1])
	}
	if err != nil || k.target == nil {
		return err
	}
	return k.target.GatherRows(t.block(b), k.panel, from)
}

// mirror copies what a square matrix has above its diagonal blocks below them. It is collective.
func (s *Matrix) mirror() error {
	for b := range s.blocks() {
		if err := s.mirrorBlock(b); err != nil {
			return err
		}
	}
	return nil
}

// mirrorBlock makes what block b has below its diagonal block from the rows of the blocks on its right.
func (s *Matrix) mirrorBlock(b int) error {
	j0, j1 := s.span(b)
	below, start := s.N-j1, 0
	if below == 0 {
		return nil
	}
	k, err := s.stackOn(s.owner(b), below, j1-j0)
	from := make([]int, below)
	for id := 0; id < len(s.ranks) && err == nil; id++ {
		columns, first := s.columnsOf(id), 0 // those on the right follow, of one device after the other
		for first < len(columns) && columns[first] < j1 {
			first++
		}
		for i, j := range columns[first:] {
			from[j-j1] = start + i
		}
		count := len(columns) - first
		err = k.add(id, s.shareOf(id).Columns(first, len(columns)).Rows(j0, j1), start, start+count)
		start += count
	}
	if err != nil || k.target == nil {
		return err
	}
	return k.target.GatherRows(s.block(b).Rows(j1, s.N), k.panel, from)
}
