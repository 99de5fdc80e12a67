package matrix

import "jmpi/kernels"

// Transpose returns the transpose of the first m rows of s, with column j of s as row place[j]; nil stands
// for the identity. It is collective.
func (s *Matrix) Transpose(place []int, m int) (*Matrix, error) {
	t, err := s.New(s.N, m)
	if err != nil {
		return nil, err
	}
	// Every device makes the rows of its blocks of t of the columns that pass by.
	err = s.part(0, m).visit(false, func(i, i0, i1 int, a kernels.Panel) error {
		var to, from []kernels.Panel
		for b := range t.blocksOf(t.first + i) {
			r0, r1 := t.span(b)
			to, from = append(to, t.block(b).Rows(i0, i1)), append(from, a.Rows(r0, r1))
		}
		return t.own[i].Transpose(to, from)
	})
	if err != nil || place == nil {
		return t, err
	}
	return t, t.permuteRows(Inverse(place))
}

// permuteRows makes row i what row from[i] was.
func (s *Matrix) permuteRows(from []int) error {
	return s.eachBlock(func(dev *device, b int, p kernels.Panel) error {
		before, _, err := dev.inbox.next(dev, p.M, p.N)
		if err == nil {
			err = dev.Convert(before, p)
		}
		if err == nil {
			err = dev.GatherRows(p, before, from)
		}
		return err
	})
}

// mirror copies what a square matrix has above its diagonal blocks below them. It is collective.
func (s *Matrix) mirror() error {
	ready, err := s.ready()
	for i0 := 0; i0 < s.N && err == nil; {
		i1 := min(s.N, i0+s.passWidth())
		var all []kernels.Panel
		if all, err = s.part(0, i1).shown(i0, i1, false, ready); err == nil {
			err = s.each(func(i int, dev *device) error { return s.mirrored(i, i0, i1, all[i]) })
		}
		i0 = i1
	}
	return err
}

// mirrored makes what this rank's device i has below the diagonal, and in the rows i0 ≤ i < i1, of these
// columns.
func (s *Matrix) mirrored(i, i0, i1 int, a kernels.Panel) error {
	var to, from []kernels.Panel
	for b := range s.blocksOf(s.first + i) {
		j0, j1 := s.span(b)
		if first := max(i0, j1); first < i1 { // the columns behind those of the block
			to = append(to, s.block(b).Rows(first, i1))
			from = append(from, a.Rows(j0, j1).Columns(first-i0, i1-i0))
		}
	}
	return s.own[i].Transpose(to, from)
}
