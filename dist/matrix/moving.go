package matrix

import (
	"slices"

	"jmpi/kernels"
)

// moving is a matrix while it is factored. Inside its block a column moves: those that are not done
// come first.
type moving struct {
	*Matrix
	done  int           // columns, and rows, of R that are done
	place []int         // of each column in R, −1 while it is not done
	slots map[int][]int // the column in each slot of this rank's blocks
	left  map[int]int   // how many columns of each block are not done
	// of this rank's devices: some numbers for each column, which move with it; nil for none
	samples []kernels.Panel
	// of each device of this rank: the columns of a panel; what a panel makes of them
	work, factor []buffer
}

// unsettled returns a matrix of which nothing is done yet.
func unsettled(x *Matrix) moving {
	f := moving{Matrix: x, place: make([]int, x.N), slots: map[int][]int{}, left: map[int]int{},
		work: make([]buffer, len(x.own)), factor: make([]buffer, len(x.own))}
	for j := range f.place {
		f.place[j] = -1
	}
	for b := range x.blocks() {
		if x.here(x.owner(b)) == nil {
			continue
		}
		j0, j1 := x.span(b)
		f.left[b] = j1 - j0
		for j := j0; j < j1; j++ {
			f.slots[b] = append(f.slots[b], j)
		}
	}
	return f
}

// free gives the buffers back.
func (f *moving) free() {
	for i, dev := range f.own {
		for _, b := range []buffer{f.work[i], f.factor[i]} {
			_ = dev.release(b.at)
		}
		if f.samples != nil {
			_ = dev.release(f.samples[i].Data)
		}
	}
}

// mine tells whether column j is this rank's.
func (f *moving) mine(j int) bool {
	id, _ := f.home(j)
	return f.here(id) != nil
}

// live returns rows i0 ≤ i < i1 of the columns that are not done, of each block of this rank's device i.
func (f *moving) live(i, i0, i1 int) (all []kernels.Panel) {
	for b := f.first + i; b < f.blocks(); b += len(f.ranks) {
		if f.left[b] > 0 {
			all = append(all, f.block(b).Columns(0, f.left[b]).Rows(i0, i1))
		}
	}
	return all
}

// liveColumns returns the columns that are not done, in the order of live.
func (f *moving) liveColumns(i int) (columns []int) {
	for b := f.first + i; b < f.blocks(); b += len(f.ranks) {
		columns = append(columns, f.slots[b][:f.left[b]]...)
	}
	return columns
}

// lengths returns the lengths of the columns of some lists of panels, all measured at a time. The columns of
// a list are those that are not done, in the order of live; the length of the others is 0. It is collective.
func (f *moving) lengths(lists ...func(i int) []kernels.Panel) ([][]float64, error) {
	own, live := make([][]float64, len(f.own)), make([][]int, len(f.own))
	err := f.each(func(i int, dev *device) (err error) {
		live[i] = f.liveColumns(i)
		var panels []kernels.Panel
		for _, list := range lists {
			panels = append(panels, list(i)...)
		}
		own[i], err = dev.Lengths(panels)
		return err
	})
	if err != nil {
		return nil, err
	}
	all := make([][]float64, len(lists))
	for l := range lists {
		all[l] = make([]float64, f.N)
		for i := range own {
			for k, j := range live[i] {
				all[l][j] = own[i][l*len(live[i])+k]
			}
		}
	}
	if f.Comm.Size() == 1 {
		return all, nil
	}
	parts := make([][]float64, len(f.own))
	for i := range parts {
		for _, j := range f.columns(i) {
			for l := range lists {
				parts[i] = append(parts[i], all[l][j])
			}
		}
	}
	return f.gatherLists(len(lists), parts)
}

// slot returns where column j, which must be this rank's, is now in its block.
func (f *moving) slot(j int) int { return slices.Index(f.slots[j/f.tile], j) }

// at returns where column j, which must be this rank's, is now in the share of its device.
func (f *moving) at(j int) int {
	_, at := f.home(j)
	return at - j%f.tile + f.slot(j)
}

// rest returns what is left, from a row on, of column j, which must be this rank's, and its device.
func (f *moving) rest(j, row int) (*device, kernels.Panel) {
	id, _ := f.home(j)
	at := f.at(j)
	return f.here(id), f.shares[id-f.first].Columns(at, at+1).Rows(row, f.M)
}

// read returns what is left of column j, which must be this rank's.
func (f *moving) read(j, row int) ([]float64, error) {
	dev, p := f.rest(j, row)
	x := make([]float64, p.M)
	return x, dev.Read(x, max(1, p.M), p)
}

// zero clears column j, if it is this rank's, from a row on.
func (f *moving) zero(j, row int) error {
	if !f.mine(j) {
		return nil
	}
	dev, p := f.rest(j, row)
	return dev.Zero(p)
}

// gatherRest puts what is left of some columns side by side into a, on one device. It is collective.
func (f *moving) gatherRest(lead int, chosen []int, a kernels.Panel) error {
	target := f.here(lead)
	for id := range f.ranks {
		var to, from []int
		for k, j := range chosen {
			if home, _ := f.home(j); home == id {
				to = append(to, k)
				if f.here(id) != nil {
					from = append(from, f.at(j))
				}
			}
		}
		source := f.here(id)
		if len(to) == 0 || source == nil && target == nil {
			continue
		}
		if source == target {
			if err := source.MoveColumns(a, to, f.shares[id-f.first].Rows(f.done, f.M), from); err != nil {
				return err
			}
			continue
		}
		out, in := end{dev: source, at: from}, end{target, a, to}
		if source != nil {
			out.panel = f.shares[id-f.first].Rows(f.done, f.M)
		}
		if err := f.part(f.done, f.M).carry(id, out, lead, in, len(to)); err != nil {
			return err
		}
	}
	return nil
}

// settle makes the pivots of a panel the next columns of R. They become the last of their blocks' columns
// that are not done.
func (f *moving) settle(chosen []int, p kernels.PanelResult) error {
	before := map[int][]int{} // the slots of the blocks that change
	for i, c := range p.Pivots {
		j := chosen[c]
		f.place[j] = f.done + i
		if !f.mine(j) {
			continue
		}
		b := j / f.tile
		if before[b] == nil {
			before[b] = slices.Clone(f.slots[b])
		}
		slots, slot, last := f.slots[b], f.slot(j), f.left[b]-1
		slots[slot], slots[last] = slots[last], slots[slot]
		f.left[b] = last
	}
	return f.each(func(i int, dev *device) error {
		if err := f.swap(i, dev, before); err != nil {
			return err
		}
		return f.fill(i, dev, chosen, p)
	})
}

// swap moves the columns of device i to their new slots, with everything that moves with them.
func (f *moving) swap(i int, dev *device, before map[int][]int) error {
	var to, from []int
	for b := f.first + i; b < f.blocks(); b += len(f.ranks) {
		old := before[b]
		if old == nil {
			continue
		}
		j0, _ := f.span(b)
		_, start := f.home(j0)
		for slot, j := range f.slots[b] {
			if old[slot] != j {
				to, from = append(to, start+slot), append(from, start+slices.Index(old, j))
			}
		}
	}
	if len(to) == 0 {
		return nil
	}
	if f.samples != nil {
		if err := dev.MoveColumns(f.samples[i], to, f.samples[i], from); err != nil {
			return err
		}
	}
	return dev.MoveColumns(f.shares[i], to, f.shares[i], from)
}

// fill writes the columns of R that a panel has made into those of device i.
func (f *moving) fill(i int, dev *device, chosen []int, p kernels.PanelResult) error {
	var to, from []int
	for k, c := range p.Pivots {
		if id, _ := f.home(chosen[c]); id == f.first+i {
			to, from = append(to, f.at(chosen[c])), append(from, k)
		}
	}
	if len(to) == 0 {
		return nil
	}
	r, err := f.work[i].need(dev, f.M-f.done, p.Count)
	if err != nil {
		return err
	}
	if err := dev.Zero(r); err != nil {
		return err
	}
	if err := dev.Write(r.Rows(0, p.Count), p.R, p.Count); err != nil {
		return err
	}
	return dev.MoveColumns(f.shares[i].Rows(f.done, f.M), to, r, from)
}

// finish puts the columns back into their slots; those that are negligible below the rows that are done
// become the last of R, and zero there.
func (f *moving) finish() error {
	next := f.done
	for j := range f.place {
		if f.place[j] < 0 {
			f.place[j] = next
			next++
		}
	}
	return f.each(func(i int, dev *device) error {
		var to, from []int
		for b := f.first + i; b < f.blocks(); b += len(f.ranks) {
			j0, _ := f.span(b)
			_, start := f.home(j0)
			for slot, j := range f.slots[b] {
				if f.place[j] >= f.done {
					if err := dev.Zero(f.shares[i].Columns(start+slot, start+slot+1).Rows(f.done, f.M)); err != nil {
						return err
					}
				}
				if j != j0+slot {
					to, from = append(to, start+j-j0), append(from, start+slot)
				}
			}
		}
		return dev.MoveColumns(f.shares[i], to, f.shares[i], from)
	})
}
