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
	err = s.visitBlocks(func(int) int { return m }, func(i, b int, some []kernels.Panel) error {
		var to, from []kernels.Panel
		for k, a := range some {
			c0, c1 := s.span(b + k)
			for own := range t.blocksOf(t.first + i) {
				r0, r1 := t.span(own)
				to, from = append(to, t.block(own).Rows(c0, c1)), append(from, a.Rows(r0, r1))
			}
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
	above := func(b int) int {
		j0, _ := s.span(b)
		return j0
	}
	return s.visitBlocks(above, func(i, b int, some []kernels.Panel) error {
		var to, from []kernels.Panel
		for k, a := range some {
			c0, c1 := s.span(b + k)
			for own := range s.blocksOf(s.first + i) {
				if r0, r1 := s.span(own); r1 <= c0 {
					to, from = append(to, s.block(own).Rows(c0, c1)), append(from, a.Rows(r0, r1))
				}
			}
		}
		return s.own[i].Transpose(to, from)
	})
}
