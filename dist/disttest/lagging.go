package disttest

import (
	"errors"
	"slices"
	"sync"

	"jmpi/dist/comm"
	"jmpi/kernels"
)

// Lagging is a device apart that queues its work as a GPU does, and does it as late as it may: when somebody
// waits for it. What another device needs of it is done only if a mark says so. So a mark that is missing
// changes the result.
type Lagging struct {
	*Apart
	lag                     *Lag
	heap                    *kernels.Heap
	queued, brought, beside line
	aside                   bool // what is called now is called beside
}

// Lag is what the lagging devices of a rank share.
type Lag struct {
	// Eager says that panels are brought, and what is called beside is done, as soon as the marks allow it,
	// otherwise as late as possible.
	Eager bool

	mu    sync.Mutex
	marks []*task // by mark, from 1 on
}

// line are tasks that are done one after the other.
type line struct{ tasks []*task }

type task struct {
	do    func() error
	after []*task // of other lines
	line  *line
	done  bool
	err   error
}

// OpenLagging opens a device.
func OpenLagging(lag *Lag) (*Lagging, error) {
	a, err := OpenApart()
	d := &Lagging{Apart: a, lag: lag}
	d.heap = &kernels.Heap{Get: a.Alloc, Put: func(at kernels.Address, _ int64) error {
		return d.now(func() error { return a.Free(at) })
	}}
	return d, err
}

// add appends a task to a line.
func (l *line) add(do func() error, after []*task) *task {
	t := &task{do: do, after: after, line: l}
	l.tasks = append(l.tasks, t)
	return t
}

// finish does a task and all that must be done before.
func (g *Lag) finish(t *task) error {
	for !t.done {
		first := t.line.tasks[0]
		for _, other := range first.after {
			if err := g.finish(other); err != nil {
				return err
			}
		}
		t.line.tasks, first.done = t.line.tasks[1:], true
		if first.err = first.do(); first.err != nil {
			return first.err
		}
	}
	return t.err
}

// of returns the tasks of marks.
func (g *Lag) of(marks []kernels.Mark) (all []*task) {
	for _, m := range marks {
		if m != 0 {
			all = append(all, g.marks[m-1])
		}
	}
	return all
}

// mark returns a mark of a task.
func (g *Lag) mark(t *task) kernels.Mark {
	g.marks = append(g.marks, t)
	return kernels.Mark(len(g.marks))
}

// line returns the line of what is called now.
func (d *Lagging) line() *line {
	if d.aside {
		return &d.beside
	}
	return &d.queued
}

// later queues a task.
func (d *Lagging) later(do func() error) error {
	d.lag.mu.Lock()
	defer d.lag.mu.Unlock()
	d.line().add(do, nil)
	return nil
}

// finishAll does all that is in a line.
func (d *Lagging) finishAll(l *line) error {
	d.lag.mu.Lock()
	defer d.lag.mu.Unlock()
	if n := len(l.tasks); n > 0 {
		return d.lag.finish(l.tasks[n-1])
	}
	return nil
}

// now does all that is queued, and then f.
func (d *Lagging) now(f func() error) error {
	if d.aside {
		return errors.New("called beside, what waits for what is queued")
	}
	if err := d.finishAll(&d.queued); err != nil {
		return err
	}
	return f()
}

// told is now for a primitive that returns something.
func told[T any](d *Lagging, f func() (T, error)) (x T, err error) {
	err = d.now(func() error {
		x, err = f()
		return err
	})
	return x, err
}

func (d *Lagging) Sync() error {
	return d.now(func() error { return errors.Join(d.finishAll(&d.beside), d.Apart.Sync()) })
}

func (d *Lagging) Mark() (kernels.Mark, error) {
	d.lag.mu.Lock()
	defer d.lag.mu.Unlock()
	return d.lag.mark(d.line().add(func() error { return nil }, nil)), nil
}

func (d *Lagging) Follow(marks ...kernels.Mark) error {
	d.lag.mu.Lock()
	defer d.lag.mu.Unlock()
	d.line().add(func() error { return nil }, d.lag.of(marks))
	return nil
}

func (d *Lagging) Beside(f func() error, after ...kernels.Mark) (kernels.Mark, error) {
	d.aside = true
	defer func() { d.aside = false }()
	if err := errors.Join(d.Follow(after...), f()); err != nil {
		return 0, err
	}
	m, err := d.Mark()
	if err == nil && d.lag.Eager {
		err = d.Await(m)
	}
	return m, err
}

func (d *Lagging) Await(marks ...kernels.Mark) error {
	d.lag.mu.Lock()
	defer d.lag.mu.Unlock()
	for _, t := range d.lag.of(marks) {
		if err := d.lag.finish(t); err != nil {
			return err
		}
	}
	return nil
}

func (d *Lagging) Bring(dst, src []kernels.Panel, after ...kernels.Mark) (kernels.Mark, error) {
	if err := kernels.CheckBring(dst, src); err != nil {
		return 0, err
	}
	dst, src = slices.Clone(dst), slices.Clone(src)
	d.lag.mu.Lock()
	defer d.lag.mu.Unlock()
	t := d.brought.add(func() (err error) {
		for k := 0; k < len(dst) && err == nil; k++ {
			err = d.Apart.Copy(dst[k], src[k])
		}
		return err
	}, d.lag.of(after))
	if d.lag.Eager {
		if err := d.lag.finish(t); err != nil {
			return 0, err
		}
	}
	return d.lag.mark(t), nil
}

// Alloc queues that the memory becomes zero, which others may still use if it is used again.
func (d *Lagging) Alloc(bytes int64) (kernels.Address, error) {
	a, _, err := d.heap.Alloc(bytes)
	if err != nil || bytes == 0 {
		return a, err
	}
	return a, d.later(func() error {
		clear(comm.HostBytes(a, bytes))
		return nil
	})
}

func (d *Lagging) Free(a kernels.Address) error { return d.heap.Free(a) }

func (d *Lagging) Close() error { return errors.Join(d.heap.Close(), d.Apart.Close()) }

// Copy waits for what is queued here, but not on another device.
func (d *Lagging) Copy(dst, src kernels.Panel) error {
	if !d.owns(d.device, src.Data, 0) {
		return d.Apart.Copy(dst, src)
	}
	return d.now(func() error { return d.Apart.Copy(dst, src) })
}

func (d *Lagging) Write(dst kernels.Panel, src []float64, ld int) error {
	return d.now(func() error { return d.Apart.Write(dst, src, ld) })
}

func (d *Lagging) Read(dst []float64, ld int, src kernels.Panel) error {
	return d.now(func() error { return d.Apart.Read(dst, ld, src) })
}

func (d *Lagging) Identity(dst kernels.Panel, row0 int) error {
	return d.later(func() error { return d.Apart.Identity(dst, row0) })
}

func (d *Lagging) Gram(b *kernels.Batch) error {
	return d.later(func() error { return d.Apart.Gram(b) })
}

func (d *Lagging) Cholesky(b *kernels.Batch) error {
	return d.later(func() error { return d.Apart.Cholesky(b) })
}

func (d *Lagging) QR(b *kernels.Batch) error {
	return d.later(func() error { return d.Apart.QR(b) })
}

func (d *Lagging) Jacobi(b *kernels.Batch, o kernels.JacobiOptions) error {
	return d.later(func() error { return d.Apart.Jacobi(b, o) })
}

func (d *Lagging) Multiply(b *kernels.Batch) error {
	return d.later(func() error { return d.Apart.Multiply(b) })
}

func (d *Lagging) ColumnNorms(p kernels.Panel) ([]float64, error) {
	return told(d, func() ([]float64, error) { return d.Apart.ColumnNorms(p) })
}

func (d *Lagging) Product(p kernels.Panel, transposed bool, x []float64, count int) ([]float64, error) {
	return told(d, func() ([]float64, error) { return d.Apart.Product(p, transposed, x, count) })
}

func (d *Lagging) Convert(dst, src kernels.Panel) error {
	return d.later(func() error { return d.Apart.Convert(dst, src) })
}

func (d *Lagging) Zero(p ...kernels.Panel) error {
	p = slices.Clone(p)
	return d.later(func() error { return d.Apart.Zero(p...) })
}

func (d *Lagging) Transpose(dst, src []kernels.Panel) error {
	dst, src = slices.Clone(dst), slices.Clone(src)
	return d.later(func() error { return d.Apart.Transpose(dst, src) })
}

func (d *Lagging) GatherRows(dst, src kernels.Panel, from []int) error {
	from = slices.Clone(from)
	return d.later(func() error { return d.Apart.GatherRows(dst, src, from) })
}

func (d *Lagging) MoveColumns(dst kernels.Panel, to []int, src kernels.Panel, from []int) error {
	to, from = slices.Clone(to), slices.Clone(from)
	return d.later(func() error { return d.Apart.MoveColumns(dst, to, src, from) })
}

func (d *Lagging) Scale(p kernels.Panel, rows, columns []float64) error {
	rows, columns = slices.Clone(rows), slices.Clone(columns)
	return d.later(func() error { return d.Apart.Scale(p, rows, columns) })
}

func (d *Lagging) Divide(p kernels.Panel, rows, columns []float64) error {
	rows, columns = slices.Clone(rows), slices.Clone(columns)
	return d.later(func() error { return d.Apart.Divide(p, rows, columns) })
}

func (d *Lagging) Ldexp(p kernels.Panel, e int) error {
	return d.later(func() error { return d.Apart.Ldexp(p, e) })
}

func (d *Lagging) Add(dst, src kernels.Panel) error {
	return d.later(func() error { return d.Apart.Add(dst, src) })
}

func (d *Lagging) Put(dst kernels.Panel, x []float64) error {
	x = slices.Clone(x)
	return d.later(func() error { return d.Apart.Put(dst, x) })
}

func (d *Lagging) Elements(p []kernels.Panel) ([]float64, error) {
	return told(d, func() ([]float64, error) { return d.Apart.Elements(p) })
}

func (d *Lagging) Lengths(p []kernels.Panel) ([]float64, error) {
	return told(d, func() ([]float64, error) { return d.Apart.Lengths(p) })
}

func (d *Lagging) RowMaxima(p kernels.Panel, columns []float64) ([]float64, error) {
	return told(d, func() ([]float64, error) { return d.Apart.RowMaxima(p, columns) })
}

func (d *Lagging) ColumnMaxima(p kernels.Panel, rows []float64) ([]float64, error) {
	return told(d, func() ([]float64, error) { return d.Apart.ColumnMaxima(p, rows) })
}

func (d *Lagging) Leads(p kernels.Panel) ([]float64, error) {
	return told(d, func() ([]float64, error) { return d.Apart.Leads(p) })
}

func (d *Lagging) Angles(h []kernels.Panel, first []int, norms []float64,
	o kernels.AngleOptions) (kernels.Angles, error) {
	return told(d, func() (kernels.Angles, error) { return d.Apart.Angles(h, first, norms, o) })
}

func (d *Lagging) Gemm(products []kernels.Gemm) error {
	products = slices.Clone(products)
	return d.later(func() error { return d.Apart.Gemm(products) })
}

func (d *Lagging) TurnColumns(a, q []kernels.Panel) error {
	a, q = slices.Clone(a), slices.Clone(q)
	return d.later(func() error { return d.Apart.TurnColumns(a, q) })
}

func (d *Lagging) Syrk(a, c []kernels.Panel) error {
	a, c = slices.Clone(a), slices.Clone(c)
	return d.later(func() error { return d.Apart.Syrk(a, c) })
}

func (d *Lagging) Departures(p []kernels.Panel) error {
	p = slices.Clone(p)
	return d.later(func() error { return d.Apart.Departures(p) })
}

func (d *Lagging) Potrf(a kernels.Panel) (int, error) {
	return told(d, func() (int, error) { return d.Apart.Potrf(a) })
}

func (d *Lagging) Trsm(b []kernels.Panel, r kernels.Panel, transposed bool) error {
	b = slices.Clone(b)
	return d.later(func() error { return d.Apart.Trsm(b, r, transposed) })
}

func (d *Lagging) FactorPanel(a kernels.Panel, q kernels.Reflectors, r kernels.Panel) error {
	return d.later(func() error { return d.Apart.FactorPanel(a, q, r) })
}

func (d *Lagging) FactorPivoted(a kernels.Panel, q kernels.Reflectors, r kernels.Panel,
	o kernels.PanelOptions) (kernels.Found, error) {
	var found kernels.Found
	err := d.later(func() (err error) {
		found, err = d.Apart.FactorPivoted(a, q, r, o)
		return err
	})
	return func() (kernels.PanelResult, error) {
		return told(d, func() (kernels.PanelResult, error) { return found() })
	}, err
}

func (d *Lagging) Join(q kernels.Reflectors) error {
	return d.later(func() error { return d.Apart.Join(q) })
}

func (d *Lagging) Reflect(q kernels.Reflectors, transposed bool, c []kernels.Panel, of int) error {
	c = slices.Clone(c)
	return d.later(func() error { return d.Apart.Reflect(q, transposed, c, of) })
}
