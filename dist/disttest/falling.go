package disttest

import (
	"fmt"
	"maps"
	"sync"

	"jmpi/kernels"
)

// Falling is a device apart that is lost at one of its calls, as a GPU that has fallen off the bus: from then
// on every call fails, Free and Close among them.
type Falling struct {
	*Apart
	Primitive string // that is called when the device is lost; empty: never
	Number    int    // of that call of the primitive, the first being 1
	Error     error  // of that call alone, where the device is not lost, as for want of memory; nil: it is lost

	mu    sync.Mutex
	calls map[string]int
	lost  bool
}

// OpenFalling opens a device that is lost at the call of this number of a primitive.
func OpenFalling(primitive string, number int) (*Falling, error) {
	d, err := OpenApart()
	return &Falling{Apart: d, Primitive: primitive, Number: number, calls: map[string]int{}}, err
}

// Calls returns how often each primitive was called.
func (d *Falling) Calls() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.calls)
}

// Lost tells whether the device is lost, or has failed.
func (d *Falling) Lost() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lost
}

// do makes a call of a primitive, unless the device is lost.
func (d *Falling) do(primitive string, f func() error) error {
	d.mu.Lock()
	d.calls[primitive]++
	now := primitive == d.Primitive && d.calls[primitive] == d.Number
	d.lost = d.lost || now
	gone := d.lost && d.Error == nil
	d.mu.Unlock()
	switch {
	case now && d.Error != nil:
		return fmt.Errorf("%s: %w", primitive, d.Error)
	case gone:
		return fmt.Errorf("%s: the device is lost", primitive)
	}
	return f()
}

// give is do for a primitive that returns something.
func give[T any](d *Falling, primitive string, f func() (T, error)) (x T, err error) {
	err = d.do(primitive, func() (err error) {
		x, err = f()
		return err
	})
	return x, err
}

func (d *Falling) Sync() error {
	return d.do("Sync", d.Apart.Sync)
}

func (d *Falling) Alloc(bytes int64) (kernels.Address, error) {
	return give(d, "Alloc", func() (kernels.Address, error) { return d.Apart.Alloc(bytes) })
}

func (d *Falling) Free(a kernels.Address) error {
	return d.do("Free", func() error { return d.Apart.Free(a) })
}

func (d *Falling) Write(dst kernels.Panel, src []float64, ld int) error {
	return d.do("Write", func() error { return d.Apart.Write(dst, src, ld) })
}

func (d *Falling) Read(dst []float64, ld int, src kernels.Panel) error {
	return d.do("Read", func() error { return d.Apart.Read(dst, ld, src) })
}

func (d *Falling) Copy(dst, src kernels.Panel) error {
	return d.do("Copy", func() error { return d.Apart.Copy(dst, src) })
}

func (d *Falling) Mark() (kernels.Mark, error) {
	return give(d, "Mark", d.Apart.Mark)
}

func (d *Falling) Follow(marks ...kernels.Mark) error {
	return d.do("Follow", func() error { return d.Apart.Follow(marks...) })
}

func (d *Falling) Await(marks ...kernels.Mark) error {
	return d.do("Await", func() error { return d.Apart.Await(marks...) })
}

func (d *Falling) Bring(dst, src []kernels.Panel, after ...kernels.Mark) (kernels.Mark, error) {
	return give(d, "Bring", func() (kernels.Mark, error) { return d.Apart.Bring(dst, src, after...) })
}

func (d *Falling) AllocHost(bytes int64) (kernels.Address, error) {
	return give(d, "AllocHost", func() (kernels.Address, error) { return d.Apart.AllocHost(bytes) })
}

func (d *Falling) FreeHost(a kernels.Address) error {
	return d.do("FreeHost", func() error { return d.Apart.FreeHost(a) })
}

func (d *Falling) Fetch(host, device kernels.Address, bytes int64) error {
	return d.do("Fetch", func() error { return d.Apart.Fetch(host, device, bytes) })
}

func (d *Falling) Store(device, host kernels.Address, bytes int64) error {
	return d.do("Store", func() error { return d.Apart.Store(device, host, bytes) })
}

func (d *Falling) Attach() error {
	return d.do("Attach", d.Apart.Attach)
}

func (d *Falling) Identity(dst kernels.Panel, row0 int) error {
	return d.do("Identity", func() error { return d.Apart.Identity(dst, row0) })
}

func (d *Falling) Gram(b *kernels.Batch) error {
	return d.do("Gram", func() error { return d.Apart.Gram(b) })
}

func (d *Falling) Cholesky(b *kernels.Batch) error {
	return d.do("Cholesky", func() error { return d.Apart.Cholesky(b) })
}

func (d *Falling) QR(b *kernels.Batch) error {
	return d.do("QR", func() error { return d.Apart.QR(b) })
}

func (d *Falling) Jacobi(b *kernels.Batch, o kernels.JacobiOptions) error {
	return d.do("Jacobi", func() error { return d.Apart.Jacobi(b, o) })
}

func (d *Falling) Multiply(b *kernels.Batch) error {
	return d.do("Multiply", func() error { return d.Apart.Multiply(b) })
}

func (d *Falling) ColumnNorms(p kernels.Panel) ([]float64, error) {
	return give(d, "ColumnNorms", func() ([]float64, error) { return d.Apart.ColumnNorms(p) })
}

func (d *Falling) Product(p kernels.Panel, transposed bool, x []float64, count int) ([]float64, error) {
	return give(d, "Product", func() ([]float64, error) { return d.Apart.Product(p, transposed, x, count) })
}

func (d *Falling) Convert(dst, src kernels.Panel) error {
	return d.do("Convert", func() error { return d.Apart.Convert(dst, src) })
}

func (d *Falling) Zero(p ...kernels.Panel) error {
	return d.do("Zero", func() error { return d.Apart.Zero(p...) })
}

func (d *Falling) Transpose(dst, src []kernels.Panel) error {
	return d.do("Transpose", func() error { return d.Apart.Transpose(dst, src) })
}

func (d *Falling) GatherRows(dst, src kernels.Panel, from []int) error {
	return d.do("GatherRows", func() error { return d.Apart.GatherRows(dst, src, from) })
}

func (d *Falling) MoveColumns(dst kernels.Panel, to []int, src kernels.Panel, from []int) error {
	return d.do("MoveColumns", func() error { return d.Apart.MoveColumns(dst, to, src, from) })
}

func (d *Falling) Scale(p kernels.Panel, rows, columns []float64) error {
	return d.do("Scale", func() error { return d.Apart.Scale(p, rows, columns) })
}

func (d *Falling) Divide(p kernels.Panel, rows, columns []float64) error {
	return d.do("Divide", func() error { return d.Apart.Divide(p, rows, columns) })
}

func (d *Falling) Ldexp(p kernels.Panel, e int) error {
	return d.do("Ldexp", func() error { return d.Apart.Ldexp(p, e) })
}

func (d *Falling) Add(dst, src kernels.Panel) error {
	return d.do("Add", func() error { return d.Apart.Add(dst, src) })
}

func (d *Falling) Put(dst kernels.Panel, x []float64) error {
	return d.do("Put", func() error { return d.Apart.Put(dst, x) })
}

func (d *Falling) Elements(p []kernels.Panel) ([]float64, error) {
	return give(d, "Elements", func() ([]float64, error) { return d.Apart.Elements(p) })
}

func (d *Falling) Lengths(p []kernels.Panel) ([]float64, error) {
	return give(d, "Lengths", func() ([]float64, error) { return d.Apart.Lengths(p) })
}

func (d *Falling) RowMaxima(p kernels.Panel, columns []float64) ([]float64, error) {
	return give(d, "RowMaxima", func() ([]float64, error) { return d.Apart.RowMaxima(p, columns) })
}

func (d *Falling) ColumnMaxima(p kernels.Panel, rows []float64) ([]float64, error) {
	return give(d, "ColumnMaxima", func() ([]float64, error) { return d.Apart.ColumnMaxima(p, rows) })
}

func (d *Falling) Leads(p kernels.Panel) ([]float64, error) {
	return give(d, "Leads", func() ([]float64, error) { return d.Apart.Leads(p) })
}

func (d *Falling) Angles(h []kernels.Panel, first []int, norms []float64,
	o kernels.AngleOptions) (kernels.Angles, error) {
	return give(d, "Angles", func() (kernels.Angles, error) { return d.Apart.Angles(h, first, norms, o) })
}

func (d *Falling) Gemm(products []kernels.Gemm) error {
	return d.do("Gemm", func() error { return d.Apart.Gemm(products) })
}

func (d *Falling) TurnColumns(a, q []kernels.Panel) error {
	return d.do("TurnColumns", func() error { return d.Apart.TurnColumns(a, q) })
}

func (d *Falling) Syrk(a, c []kernels.Panel) error {
	return d.do("Syrk", func() error { return d.Apart.Syrk(a, c) })
}

func (d *Falling) Departures(p []kernels.Panel) error {
	return d.do("Departures", func() error { return d.Apart.Departures(p) })
}

func (d *Falling) Potrf(a kernels.Panel) (int, error) {
	return give(d, "Potrf", func() (int, error) { return d.Apart.Potrf(a) })
}

func (d *Falling) Trsm(b []kernels.Panel, r kernels.Panel, transposed bool) error {
	return d.do("Trsm", func() error { return d.Apart.Trsm(b, r, transposed) })
}

func (d *Falling) FactorPanel(a kernels.Panel, q kernels.Reflectors, r kernels.Panel) error {
	return d.do("FactorPanel", func() error { return d.Apart.FactorPanel(a, q, r) })
}

func (d *Falling) FactorPivoted(a kernels.Panel, q kernels.Reflectors, r kernels.Panel,
	o kernels.PanelOptions) (kernels.Found, error) {
	return give(d, "FactorPivoted", func() (kernels.Found, error) {
		return d.Apart.FactorPivoted(a, q, r, o)
	})
}

func (d *Falling) Join(q kernels.Reflectors) error {
	return d.do("Join", func() error { return d.Apart.Join(q) })
}

func (d *Falling) Reflect(q kernels.Reflectors, transposed bool, c []kernels.Panel, of int) error {
	return d.do("Reflect", func() error { return d.Apart.Reflect(q, transposed, c, of) })
}

func (d *Falling) Close() error {
	return d.do("Close", d.Apart.Close)
}
