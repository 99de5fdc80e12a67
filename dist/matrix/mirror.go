package matrix

import "jmpi/kernels"

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
	below, to := s.N-j1, s.owner(b)
	if below == 0 {
		return nil
	}
	target := s.here(to)
	var stack kernels.Panel // the columns on the right, of one device after the other
	var err error
	if target != nil {
		if stack, err = target.inbox.need(target, below, j1-j0); err != nil {
			return err
		}
	}
	from, start := make([]int, below), 0
	for id := range s.ranks {
		columns, first := s.columnsOf(id), 0
		for first < len(columns) && columns[first] < j1 {
			first++
		}
		count := len(columns) - first
		for k, j := range columns[first:] {
			from[j-j1] = start + k
		}
		source, rows := end{dev: s.here(id)}, kernels.Panel{M: count, N: j1 - j0}
		if target != nil {
			rows = stack.Rows(start, start+count)
		}
		start += count
		if count == 0 || source.dev == nil && target == nil {
			continue
		}
		if source.dev != nil {
			source.panel = s.shares[id-s.first].Columns(first, len(columns)).Rows(j0, j1)
		}
		if source.dev == target {
			err = target.Transpose(rows, source.panel)
		} else {
			err = s.transposeFrom(source, id, to, rows)
		}
		if err != nil {
			return err
		}
	}
	if target == nil {
		return nil
	}
	return target.GatherRows(s.block(b).Rows(j1, s.N), stack, from)
}
