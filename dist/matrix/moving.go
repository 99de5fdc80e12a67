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
	slot  []int         // of each column of this rank in its block
	left  map[int]int   // how many columns of each block are not done
	// of this rank's devices: some numbers for each column, which move with it; nil for none
	samples []kernels.Panel
	// of each device of this rank: the columns of a lot, and of a panel of it; what a lot makes of them
	work, single, factor []buffer
}

// unsettled returns a matrix of which nothing is done yet.
func unsettled(x *Matrix) moving {
	f := moving{Matrix: x, place: make([]int, x.N), slots: map[int][]int{}, slot: make([]int, x.N),
		left: map[int]int{},
		work: make([]buffer, len(x.own)), single: make([]buffer, len(x.own)), factor: make([]buffer, len(x.own))}
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
			f.slots[b], f.slot[j] = append(f.slots[b], j), j-j0
		}
	}
	return f
}

// free gives the buffers back.
func (f *moving) free() {
	for i, dev := range f.own {
		for _, b := range []buffer{f.work[i], f.single[i], f.factor[i]} {
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
	for b := range f.blocksOf(f.first + i) {
		if f.left[b] > 0 {
			all = append(all, f.block(b).Columns(0, f.left[b]).Rows(i0, i1))
		}
	}
	return all
}

// liveColumns returns the columns that are not done, in the order of live.
func (f *moving) liveColumns(i int) (columns []int) {
	columns = make([]int, 0, f.countOf(f.first+i))
	for b := range f.blocksOf(f.first + i) {
		columns = append(columns, f.slots[b][:f.left[b]]...)
	}
	return columns
}

// lengths returns the lengths of the columns of some lists of panels, all measured at a time. The columns of
// a list are those that are not done, in the order of live; the length of the others is 0. join may make
// fewer numbers of the lengths of a column, all[l·count+k] being that of column k in list l. It returns how
// many there are. It is collective.
func (f *moving) lengths(join func(all []float64, count int) int,
	lists ...func(i int) []kernels.Panel) ([][]float64, error) {
	own, live, numbers := make([][]float64, len(f.own)), make([][]int, len(f.own)), make([]int, len(f.own))
	err := f.each(func(i int, dev *device) (err error) {
		live[i] = f.liveColumns(i)
		var panels []kernels.Panel
		for _, list := range lists {
			panels = append(panels, list(i)...)
		}
		if own[i], err = dev.Lengths(panels); err == nil {
			numbers[i] = join(own[i], len(live[i]))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	all := make([][]float64, numbers[0])
	for l := range all {
		all[l] = make([]float64, f.N)
		for i := range own {
			part := own[i][l*len(live[i]):]
			for k, j := range live[i] {
				all[l][j] = part[k]
			}
		}
	}
	if f.Comm.Size() == 1 {
		return all, nil
	}
	parts := make([][]float64, len(f.own))
	for i := range parts {
		for l := range all {
			parts[i] = append(parts[i], f.local(i, all[l], 1)...)
		}
	}
	x, err := gather(f.Matrix, len(all), parts)
	if err != nil {
		return nil, err
	}
	for l := range all {
		all[l] = x[l*f.N : (l+1)*f.N]
	}
	return all, nil
}

// at returns where column j, which must be this rank's, is now in the share of its device.
func (f *moving) at(j int) int {
	_, at := f.home(j)
	return at - j%f.tile + f.slot[j]
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

// collect puts what is left of some columns side by side into a, on one device, and below it their samples,
// of which there are `width` for each. It is collective.
func (f *moving) collect(lead int, chosen []int, width int, a kernels.Panel) error {
	rows, target := f.M-f.done, f.here(lead)
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
		take := func(dev *device, p kernels.Panel, to []int) error {
			err := dev.MoveColumns(p.Rows(0, rows), to, f.shares[id-f.first].Rows(f.done, f.M), from)
			if err == nil && width > 0 {
				err = dev.MoveColumns(p.Rows(rows, rows+width), to, f.samples[id-f.first], from)
			}
			return err
		}
		if source == target {
			if err := take(source, a, to); err != nil {
				return err
			}
			continue
		}
		pack := func(dev *device, p kernels.Panel) error { return take(dev, p, Natural(len(to))) }
		t := flight{from: id, to: lead, m: rows + width, n: len(to), pack: pack}
		if err := f.land(t, target, a, to); err != nil {
			return err
		}
	}
	return nil
}

// placing says which columns of R go to which columns of a device.
type placing struct{ to, from []int }

// placing returns where the pivots of this rank's device i are now.
func (f *moving) placing(i int, chosen, pivots []int) (p placing) {
	for k, c := range pivots {
		if id, _ := f.home(chosen[c]); id == f.first+i {
			p.to, p.from = append(p.to, f.at(chosen[c])), append(p.from, k)
		}
	}
	return p
}

// shrunk is what a block was before some of its columns were taken.
type shrunk struct {
	slots []int
	left  int
}

// retire makes the pivots of a lot the next columns of R. They become the last of their blocks' columns that
// are not done. It returns what the blocks that change were before.
func (f *moving) retire(chosen, pivots []int) (before map[int]shrunk) {
	before = map[int]shrunk{}
	for i, c := range pivots {
		j := chosen[c]
		f.place[j] = f.done + i
		if !f.mine(j) {
			continue
		}
		b := j / f.tile
		if _, known := before[b]; !known {
			before[b] = shrunk{slices.Clone(f.slots[b]), f.left[b]}
		}
		slots, slot, last := f.slots[b], f.slot[j], f.left[b]-1
		slots[slot], slots[last] = slots[last], slots[slot]
		f.slot[slots[slot]], f.slot[slots[last]] = slot, last
		f.left[b] = last
	}
	return before
}

// swap moves the columns of device i to their new slots, with everything that moves with them.
func (f *moving) swap(i int, dev *device, before map[int]shrunk) error {
	var to, from []int
	for b := range f.blocksOf(f.first + i) {
		old := before[b].slots
		if old == nil {
			continue
		}
		j0, _ := f.span(b)
		_, start := f.home(j0)
		for slot, j := range old {
			if f.slot[j] != slot {
				to, from = append(to, start+f.slot[j]), append(from, start+slot)
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

// fill writes columns of R, which a lot has made, into those of device i, and zero below them.
func (f *moving) fill(i int, dev *device, before map[int]shrunk, p placing, r kernels.Panel) error {
	if len(p.to) == 0 {
		return nil
	}
	var taken []kernels.Panel
	for b := range f.blocksOf(f.first + i) {
		if left := before[b].left; left > f.left[b] {
			taken = append(taken, f.block(b).Columns(f.left[b], left).Rows(f.done+r.M, f.M))
		}
	}
	if err := dev.Zero(taken...); err != nil {
		return err
	}
	return dev.MoveColumns(f.shares[i].Rows(f.done, f.done+r.M), p.to, r, p.from)
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
		for b := range f.blocksOf(f.first + i) {
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
