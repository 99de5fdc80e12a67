package matrix

// moving is a matrix while it is factored. Inside its block a column moves: those that are not done
// come first.
type moving struct {
	*Matrix
	done  int           // columns, and rows, of R that are done
	place []int         // of each column in R, −1 while it is not done
	slots map[int][]int // the column in each slot of this rank's blocks
	live  map[int]int   // the columns of each block that are not done
}

// settled returns a matrix of which nothing is done yet.
func settled(x *Matrix) moving {
	f := moving{Matrix: x, place: make([]int, x.N), slots: map[int][]int{}, live: map[int]int{}}
	for j := range f.place {
		f.place[j] = -1
	}
	for b := range x.Own {
		j0, j1 := x.Span(b)
		f.live[b] = j1 - j0
		for j := j0; j < j1; j++ {
			f.slots[b] = append(f.slots[b], j)
		}
	}
	return f
}

// current returns column j, which must be this rank's, as it is now, from the slot where it is.
func (f *moving) current(j int) []float64 {
	b := j / blockWidth
	slot := f.slot(b, j)
	return f.Own[b][slot*f.M : (slot+1)*f.M]
}

func (f *moving) slot(b, j int) int {
	for slot, have := range f.slots[b] {
		if have == j {
			return slot
		}
	}
	return -1
}

// settle makes column j the next of R: r is what it has in the rows of the panel.
func (f *moving) settle(j int, r []float64) {
	f.place[j] = f.done + len(r) - 1
	if f.owner(j) != f.Comm.Rank() {
		return
	}
	b := j / blockWidth
	x, slots := f.Own[b], f.slots[b]
	slot, last := f.slot(b, j), f.live[b]-1
	if slot != last {
		u, v := x[slot*f.M:(slot+1)*f.M], x[last*f.M:(last+1)*f.M]
		for i := range u {
			u[i], v[i] = v[i], u[i]
		}
		slots[slot], slots[last] = slots[last], slots[slot]
	}
	c := x[last*f.M+f.done : (last+1)*f.M]
	copy(c, r)
	clear(c[len(r):])
	f.live[b] = last
}

// finish puts the columns back into their slots; those that are negligible below the rows that are done
// become the last of R, and zero there.
func (f *moving) finish() {
	next := f.done
	for j := range f.place {
		if f.place[j] < 0 {
			f.place[j] = next
			next++
		}
	}
	for b, slots := range f.slots {
		j0, _ := f.Span(b)
		x := make([]float64, len(f.Own[b]))
		for slot, j := range slots {
			copy(x[(j-j0)*f.M:(j-j0+1)*f.M], f.Own[b][slot*f.M:(slot+1)*f.M])
			if f.place[j] >= f.done {
				clear(x[(j-j0)*f.M+f.done : (j-j0+1)*f.M])
			}
		}
		f.Own[b] = x
	}
}
