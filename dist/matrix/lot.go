package matrix

import (
	"math"
	"slices"

	"jmpi/dist/comm"
	"jmpi/internal/dense"
	"jmpi/kernels"
)

// A lot are the longest columns of what remains of a matrix. One device factors them by themselves, panel by
// panel. While it factors one, all devices apply the reflectors of the panel before to the other columns. A
// lot ends where a pivot would be shorter than kernels.PanelThreshold times the longest of the others, and
// where noise shows up in it: then all columns are looked at.
type lot struct {
	columns []int   // of the matrix
	lead    int     // the device
	bound   float64 // length of the longest of the others
	told
	panels []reflectors
	shown  int            // how many of them all devices have
	beside []kernels.Mark // of each device of this rank: behind this comes what is done with the next panel
	factor kernels.Panel  // R of the pivots, and in the last rows the ratios of their noise
	errors kernels.Panel  // of the rows, if they are followed
}

// told is what every rank is told of a lot.
type told struct {
	counts       []int       // of the pivots of each panel
	pivots       []int       // numbers of columns of the lot, in the order in which they were taken
	rank         int         // how many of them were more than noise
	noisy        [][2]int    // columns of the lot that became zero, and how many others had been taken then
	from         [][]float64 // lengths of the errors of the rows when each pivot had been taken
	least, doubt float64     // as in factorization
}

// factorLot factors what remains of the chosen columns on one device. It is collective.
func (f *factorization) factorLot(lead int, chosen []int, lengths []float64, bound float64) (*lot, error) {
	rows, n, width := f.M-f.done, len(chosen), f.width()
	l := &lot{columns: chosen, lead: lead, bound: bound, told: told{least: math.Inf(1)}}
	dev, a := f.here(lead), kernels.Panel{M: rows + width, N: n}
	l.factor, l.errors = kernels.Panel{M: n + width, N: n}, kernels.Panel{M: rows, N: f.bounds}
	if dev != nil {
		i, err := lead-f.first, error(nil)
		if a, err = f.work[i].need(dev, a.M, n); err != nil {
			return l, err
		}
		if l.factor, err = f.factor[i].need(dev, l.factor.M, n); err != nil {
			return l, err
		}
		if l.errors.N > 0 {
			l.errors = f.rows[i].Rows(f.done, f.M)
		}
	}
	if err := f.collect(lead, chosen, width, a); err != nil {
		return l, err
	}
	ready, err := f.ready()
	if err != nil {
		return l, err
	}
	l.beside = ready.marks
	if dev == nil {
		err = f.listen(l)
	} else {
		b := &bench{f: f, lot: l, dev: dev, i: lead - f.first, a: a, left: Natural(n)}
		for _, j := range chosen {
			b.lengths = append(b.lengths, lengths[j])
		}
		if err = b.work(); err == nil {
			err = f.tell(l, l.told.pack())
		}
	}
	f.q.panels = append(f.q.panels, l.panels...)
	l.factor = l.factor.Columns(0, len(l.pivots))
	return l, err
}

// tell sends the other ranks the number of reflectors of the next panel of a lot, or all that is told of it.
func (f *factorization) tell(l *lot, message []float64) error {
	_, err := comm.FromRank(f.Comm, f.ranks[l.lead], message)
	return err
}

// listen takes what another rank tells of a lot.
func (f *factorization) listen(l *lot) error {
	row := f.done
	add := func(count int) {
		l.panels = append(l.panels, reflectors{row: row, count: count, owner: l.lead})
		row += count
	}
	for {
		message, err := comm.FromRank(f.Comm, f.ranks[l.lead], nil)
		if err != nil {
			return err
		}
		if len(message) > 1 {
			l.told = unpack(message, f.bounds)
			for _, count := range l.counts[len(l.panels):] {
				add(count)
			}
			return nil
		}
		add(int(message[0]))
		if err := f.show(l, f.idle()); err != nil {
			return err
		}
	}
}

// show gives all devices the next panel of a lot, if there is one, and applies its reflectors to the columns
// that are not done, beside what else is queued. It is collective.
func (f *factorization) show(l *lot, ready readiness) (err error) {
	if l.shown == len(l.panels) {
		return nil
	}
	r := l.panels[l.shown]
	l.shown++
	l.beside, err = f.Devices.beside(l.beside, func() error {
		shown, err := f.q.shown([]reflectors{r}, ready)
		if err != nil {
			return err
		}
		return f.each(func(i int, dev *device) error {
			return dev.Reflect(shown[0][i], true, f.live(i, r.row, f.M), f.N)
		})
	})
	return err
}

// bench is a device that works on a lot.
type bench struct {
	f *factorization
	*lot
	dev     *device
	i       int           // its number in this rank
	a       kernels.Panel // the columns, and below them their samples
	left    []int         // columns of the lot that were not taken
	lengths []float64     // of what is left of them
}

// work factors the lot.
func (b *bench) work() error {
	err := b.dev.Zero(b.factor)
	for more := true; more && err == nil; {
		more, err = b.panel()
	}
	if err == nil && b.shown < len(b.panels) {
		err = b.above()
	}
	return err
}

// panel does the next panel. It tells whether another one may follow.
func (b *bench) panel() (more bool, err error) {
	dev, done, width := b.dev, len(b.pivots), b.f.width()
	rows := b.a.M - width - done
	chosen, bound := foremost(b.left, b.lengths, kernels.PivotedWidth)
	n := len(chosen)
	k := min(rows, n)
	panel, err := b.f.single[b.i].need(dev, rows+width, n)
	if err != nil {
		return false, err
	}
	if err := dev.MoveColumns(panel, Natural(n), b.a.Rows(done, b.a.M), chosen); err != nil {
		return false, err
	}
	r := reflectors{row: b.f.done + done, count: k, owner: b.lead}
	if r.memory, err = b.f.q.reserve(dev, rows, k); err != nil {
		return false, err
	}
	factor := b.factor.Columns(done, done+k)
	ratios := factor.Rows(factor.M-width, factor.M)
	o := kernels.PanelOptions{Bound: max(bound, b.bound), Drop: b.f.dropping()}
	if b.f.following() {
		o.Noise = &kernels.PanelNoise{Rows: b.errors.Rows(done, done+rows), Samples: panel.Rows(rows, panel.M),
			Ratios: ratios}
	}
	q := r.of(b.f.M, r.memory)
	found, err := dev.FactorPivoted(panel.Rows(0, rows), q, factor.Rows(done, done+k), o)
	if err != nil {
		return false, err
	}
	// The rest of the lot has the reflectors before the host knows how many there are.
	if more = n < len(b.left) && k < rows; more {
		if err := b.reflect(q, ratios); err != nil {
			return false, err
		}
	}
	if err := b.show(); err != nil { // the panel before, while the device factors this one
		return false, err
	}
	var lengths []float64
	if more {
		if lengths, err = b.measure(done + k); err != nil {
			return false, err
		}
	}
	p, err := found()
	if err != nil || p.Count == 0 {
		return false, err
	}
	r.count = p.Count
	b.take(r, chosen, p)
	if !more || len(p.Noisy) > 0 {
		return false, nil
	}
	if p.Count < k {
		if lengths, err = b.measure(done + p.Count); err != nil {
			return false, err
		}
	}
	return b.goesOn(lengths), nil
}

// reflect applies the reflectors of a panel to what is left of the lot.
func (b *bench) reflect(q kernels.Reflectors, ratios kernels.Panel) error {
	done, last := len(b.pivots), b.a.M-b.f.width()
	rest := b.a.Rows(done, last)
	if err := b.dev.Reflect(q, true, []kernels.Panel{rest}, 0); err != nil || !b.f.following() {
		return err
	}
	return b.dev.Gemm([]kernels.Gemm{{Alpha: -1, A: ratios, B: rest.Rows(0, q.Y.N), Beta: 1,
		C: b.a.Rows(last, b.a.M)}})
}

// show shows all devices the last panel, if they have not got it.
func (b *bench) show() error {
	if b.shown == len(b.panels) {
		return nil
	}
	err := b.f.tell(b.lot, []float64{float64(b.panels[b.shown].count)})
	if err == nil {
		err = b.f.show(b.lot, b.f.idle())
	}
	if err == nil {
		b.lot.beside[b.i], err = b.dev.Beside(b.above)
	}
	return err
}

// above copies the rows of R above those of the last panel.
func (b *bench) above() error {
	count := b.counts[len(b.counts)-1]
	done := len(b.pivots) - count
	if done == 0 {
		return nil
	}
	return b.dev.MoveColumns(b.factor.Columns(done, done+count).Rows(0, done), Natural(count),
		b.a.Rows(0, done), b.pivots[done:])
}

// take notes what was found of a panel of columns of the lot.
func (b *bench) take(r reflectors, chosen []int, p kernels.PanelResult) {
	done, width := len(b.pivots), b.f.width()
	b.panels, b.counts, b.rank = append(b.panels, r), append(b.counts, r.count), b.rank+p.Rank
	for _, x := range p.Noisy {
		b.noisy = append(b.noisy, [2]int{chosen[x[0]], done + x[1]})
	}
	from := b.errorsBelow()
	for i, c := range p.Pivots {
		b.pivots = append(b.pivots, chosen[c])
		beta := math.Abs(p.R[i+i*p.Count])
		b.least = min(b.least, beta)
		if !b.f.following() {
			continue
		}
		b.doubt = max(b.doubt, dense.NoiseOf(p.Columns[i*width:(i+1)*width], from)/beta)
		from = nil
		for k := range p.From {
			from = append(from, p.From[k][i+1])
		}
		b.from = append(b.from, from)
	}
	b.left = slices.DeleteFunc(b.left, func(c int) bool { return slices.Contains(b.pivots[done:], c) })
}

// errorsBelow returns the lengths of the errors of the rows that are left, for each bound.
func (b *bench) errorsBelow() []float64 {
	switch done := len(b.pivots); {
	case !b.f.following():
		return nil
	case done > 0:
		return b.from[done-1]
	}
	return b.f.errors[b.f.done]
}

// measure returns the lengths of the columns of the lot from a row on, and of their samples.
func (b *bench) measure(row int) ([]float64, error) {
	last := b.a.M - b.f.width()
	list := []kernels.Panel{b.a.Rows(row, last)}
	for r := last; r < b.a.M; r += kernels.Samples {
		list = append(list, b.a.Rows(r, r+kernels.Samples))
	}
	return b.dev.Lengths(list)
}

// goesOn notes the lengths of what is left of the lot. It tells whether its longest columns are long enough,
// and all more than noise.
func (b *bench) goesOn(all []float64) bool {
	n, most, from := b.a.N, 0.0, b.errorsBelow()
	b.lengths = all[:n]
	for _, c := range b.left {
		most = max(most, all[c])
		if !b.f.following() {
			continue
		}
		noise := all[(1+b.f.bounds)*n+c]
		for k, from := range from {
			noise = min(noise, from*all[(1+k)*n+c])
		}
		if !(all[c] > noise) {
			return false
		}
	}
	return most >= kernels.NegligibleLength && most >= kernels.PanelThreshold*b.bound
}

// apply shows all devices what was made of a lot, and does to the other columns what it did. The pivots
// become the next columns of R.
func (f *factorization) apply(l *lot) error {
	ready, err := f.ready()
	if err != nil {
		return err
	}
	if err := f.show(l, ready); err != nil {
		return err
	}
	// Some rows of R were copied beside.
	if err := f.meet(); err != nil {
		return err
	}
	if ready, err = f.ready(); err != nil {
		return err
	}
	mark, count := ready.of(l.lead), len(l.pivots)
	all := []cargo{{owner: l.lead, src: l.factor, ready: mark}, {owner: l.lead, src: l.errors, ready: mark}}
	if err := f.toAll(all); err != nil {
		return err
	}
	before := f.retire(l.columns, l.pivots)
	return f.each(func(i int, dev *device) error {
		factor := all[0].dst[i]
		if f.following() {
			if err := f.subtract(i, dev, factor.Rows(factor.M-f.width(), factor.M)); err != nil {
				return err
			}
			if f.first+i != l.lead {
				if err := dev.Convert(f.rows[i].Rows(f.done, f.M), all[1].dst[i]); err != nil {
					return err
				}
			}
		}
		if err := f.swap(i, dev, before); err != nil {
			return err
		}
		return f.fill(i, dev, before, f.placing(i, l.columns, l.pivots), factor.Rows(0, count))
	})
}

// pack writes what is told as one sequence of numbers; unpack reads it again.
func (t told) pack() []float64 {
	message := []float64{float64(len(t.counts)), float64(len(t.pivots)), float64(len(t.noisy)), float64(t.rank),
		t.least, t.doubt}
	for _, list := range [][]int{t.counts, t.pivots} {
		message = append(message, floats(list)...)
	}
	for _, x := range t.noisy {
		message = append(message, float64(x[0]), float64(x[1]))
	}
	for _, from := range t.from {
		message = append(message, from...)
	}
	return message
}

func unpack(message []float64, bounds int) (t told) {
	next := func(n int) (x []float64) {
		x, message = message[:n:n], message[n:]
		return x
	}
	head := next(6)
	t.rank, t.least, t.doubt = int(head[3]), head[4], head[5]
	t.counts, t.pivots = integers(next(int(head[0]))), integers(next(int(head[1])))
	for range int(head[2]) {
		t.noisy = append(t.noisy, [2]int(integers(next(2))))
	}
	for bounds > 0 && len(message) > 0 {
		t.from = append(t.from, next(bounds))
	}
	return t
}

// floats and integers turn small whole numbers into numbers, and back.
func floats(x []int) []float64 {
	y := make([]float64, len(x))
	for i, e := range x {
		y[i] = float64(e)
	}
	return y
}

func integers(x []float64) []int {
	y := make([]int, len(x))
	for i, e := range x {
		y[i] = int(e)
	}
	return y
}
