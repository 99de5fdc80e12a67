package cuda

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"jmpi/internal/nvidia"
	"jmpi/kernels"
	"jmpi/kernels/kerneltest"
)

// mustOpen opens a GPU, or skips the test where there are not so many.
func mustOpen(t testing.TB, index int) *device {
	t.Helper()
	count, err := Devices()
	if err != nil {
		t.Skipf("no GPU: %v", err)
	}
	if count <= index {
		t.Skipf("no GPU %d: this process sees %d", index, count)
	}
	b, err := Open(index)
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	return b.(*device)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPrimitives(t *testing.T) {
	d := mustOpen(t, 0)
	t.Logf("%+v, %+v", d.Describe(), d.Limits())
	kerneltest.All(t, d)
}

// TestFirstLaunch takes a step with pivots of every order. The limits of the kernels' shared memory are those
// of before their first launch.
func TestFirstLaunch(t *testing.T) {
	d := mustOpen(t, 0)
	first := map[string]int{}
	for name, k := range d.kernels {
		first[name] = k.shared
	}
	for k := 2; k <= pointwiseOrder; k++ {
		for name, x := range d.kernels {
			must(t, d.allowShared(name, x, first[name]))
		}
		shapes := []shape{{2 * k, k / 2, k - k/2}}
		step(t, d, shapes, false)
		singleStep(t, d, shapes)
	}
}

// TestMarks brings panels from one GPU to another, if there are two.
func TestMarks(t *testing.T) {
	a, other := mustOpen(t, 0), mustOpen(t, 0)
	if count, err := Devices(); err == nil && count > 1 {
		other = mustOpen(t, 1)
	}
	kerneltest.Marks(t, a, other)
	kerneltest.Marks(t, other, a)
	kerneltest.Again(t, a, other)
	kerneltest.Brought(t, a, other)
	kerneltest.Again(t, other, a)
	kerneltest.Beside(t, a)
}

func TestDense(t *testing.T) { kerneltest.AllDense(t, mustOpen(t, 0)) }

// TestLittleSharedMemory runs the kernels that serve GPUs with less shared memory for a block.
func TestLittleSharedMemory(t *testing.T) {
	d := mustOpen(t, 0)
	d.shared = min(d.shared, 99<<10)
	for _, body := range []struct {
		name string
		run  func(*testing.T, kernels.Backend)
	}{
		{"Gram", kerneltest.Gram}, {"Cholesky", kerneltest.Cholesky}, {"QR", kerneltest.QR},
		{"Multiply", kerneltest.Multiply},
		{"Jacobi", kerneltest.Jacobi}, {"JacobiSweep", kerneltest.JacobiSweep},
		{"HyperbolicSweep", kerneltest.HyperbolicSweep},
	} {
		t.Run(body.name, func(t *testing.T) { body.run(t, d) })
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := Open(-1); err == nil {
		t.Error("Open(-1) succeeded")
	}
	if _, err := Open(1000); err == nil {
		t.Error("Open(1000) succeeded")
	}
}

// shape is the shape of a pivot: m×(p+q).
type shape struct{ m, p, q int }

// pivots are a batch with carried V on a device.
type pivots struct {
	d      *device
	batch  kernels.Batch
	option kernels.JacobiOptions
}

// newPivots fills pivots of the given shapes, of that order at most, with numbers that depend on
// the shape alone.
func newPivots(t testing.TB, d *device, order int, shapes []shape) *pivots {
	t.Helper()
	p := &pivots{d: d}
	for _, s := range shapes {
		k := s.p + s.q
		g, v := p.panel(t, s.m, k), p.panel(t, k, k)
		must(t, d.Write(g, normal(s.m, k), max(s.m, 1)))
		must(t, d.Identity(v, 0))
		p.batch.G = append(p.batch.G, kernels.Pivot{P: g.Columns(0, s.p), Q: g.Columns(s.p, k)})
		p.batch.V = append(p.batch.V, kernels.Pivot{P: v.Columns(0, s.p), Q: v.Columns(s.p, k)})
		p.batch.R = append(p.batch.R, p.panel(t, k, k))
		p.batch.T = append(p.batch.T, p.panel(t, k, k))
	}
	p.batch.Tally = make([]kernels.Tally, len(shapes))
	p.option = kernels.JacobiOptions{Schedule: kerneltest.RoundRobin(order + order%2), MaxSweeps: 1}
	return p
}

// normal returns an m×n matrix of normally distributed numbers.
func normal(m, n int) []float64 {
	rnd := rand.New(rand.NewPCG(uint64(m), uint64(n)))
	x := make([]float64, m*n)
	for i := range x {
		x[i] = rnd.NormFloat64()
	}
	return x
}

// panel allocates a panel that is freed with the test.
func (p *pivots) panel(t testing.TB, m, n int) kernels.Panel {
	t.Helper()
	return p.panelOf(t, m, n, kernels.Float64)
}

// panelOf is panel for elements of any type.
func (p *pivots) panelOf(t testing.TB, m, n int, e kernels.Element) kernels.Panel {
	t.Helper()
	a := kernels.Panel{M: m, N: n, Ld: ceil(m, alignment) * alignment, Type: e}
	data, err := p.d.Alloc(a.Bytes())
	must(t, err)
	t.Cleanup(func() { must(t, p.d.Free(data)) })
	a.Data = data
	return a
}

// download returns a panel's elements.
func download(t testing.TB, d *device, a kernels.Panel) []float64 {
	t.Helper()
	x := make([]float64, a.M*a.N)
	must(t, d.Read(x, max(a.M, 1), a))
	return x
}

// step does one step of the method and returns all that it has computed, one slice a problem. mixed: a third
// of the columns of those of odd order have sign −1.
func step(t testing.TB, d *device, shapes []shape, mixed bool) [][]float64 {
	t.Helper()
	p := newPivots(t, d, pointwiseOrder, shapes)
	b := &p.batch
	must(t, d.Gram(b))
	must(t, d.Cholesky(b))
	must(t, d.Sync())
	for i := range b.Tally {
		k := b.R[i].N
		b.Tally[i].Broken = int64(k % 2) // some factors from QR
		if mixed {
			b.Positive = append(b.Positive, k-k%2*(k/3))
		}
	}
	must(t, d.QR(b))
	must(t, d.Jacobi(b, p.option))
	must(t, d.Multiply(b))
	must(t, d.Sync())
	var out [][]float64
	for i := range b.G {
		tally := b.Tally[i]
		x := []float64{float64(tally.Rotations), float64(tally.Proper), float64(tally.Changed),
			float64(tally.Broken), tally.Cosine}
		for _, a := range []kernels.Panel{b.G[i].P, b.G[i].Q, b.V[i].P, b.V[i].Q, b.R[i], b.T[i]} {
			x = append(x, download(t, d, a)...)
		}
		out = append(out, x)
	}
	return out
}

// TestSameBits compares a step of several pivots bit by bit: from run to run, and for each problem
// alone instead of all in one batch; without and with columns of sign −1. Problems without them
// have the same bits in both.
func TestSameBits(t *testing.T) {
	d := mustOpen(t, 0)
	shapes := []shape{{300, 16, 16}, {1500, 17, 16}, {40, 30, 31}, {700, 1, 0}, {5000, 64, 64}, {900, 50, 51},
		{2100, 8, 8}}
	plain := step(t, d, shapes, false)
	for _, mixed := range []bool{false, true} {
		want := step(t, d, shapes, mixed)
		for run := range 3 {
			kerneltest.SameBits(t, fmt.Sprint("run ", run, mixed), step(t, d, shapes, mixed), want)
		}
		for i, s := range shapes {
			kerneltest.SameBits(t, fmt.Sprint("problem ", i, " alone", mixed), step(t, d, shapes[i:i+1], mixed),
				want[i:i+1])
			if (s.p+s.q)%2 == 0 {
				kerneltest.SameBits(t, fmt.Sprint("problem ", i, " beside others with two signs", mixed), want[i:i+1],
					plain[i:i+1])
			}
		}
	}
}

// TestLarge tests Gram, Cholesky, QR and Multiply for orders beyond that of one block of threads:
// RᵀR = [P Q]ᵀ[P Q], and [P Q]·R.
func TestLarge(t *testing.T) {
	d := mustOpen(t, 0)
	for _, s := range []shape{{700, 64, 64}, {901, 64, 63}, {700, 100, 101}, {900, 128, 128}, {1000, 200, 188}} {
		for _, broken := range []int64{0, 1} {
			t.Run(fmt.Sprint(s, broken), func(t *testing.T) { large(t, d, s, broken) })
		}
	}
}

func large(t *testing.T, d *device, s shape, broken int64) {
	p := newPivots(t, d, 2, []shape{s})
	b, m, k := &p.batch, s.m, s.p+s.q
	a := append(download(t, d, b.G[0].P), download(t, d, b.G[0].Q)...)
	must(t, d.Gram(b))
	must(t, d.Cholesky(b))
	must(t, d.Sync())
	if b.Tally[0].Broken != 0 {
		t.Fatal("Cholesky broke down")
	}
	b.Tally[0].Broken = broken
	if err := d.QR(b); errors.Is(err, nvidia.ErrMissing) {
		t.Skipf("QR of large factors not tested: %v", err)
	} else {
		must(t, err)
	}
	r := download(t, d, b.R[0])
	for j := range k {
		for i := range k {
			if i > j && r[i+j*k] != 0 {
				t.Fatalf("r(%d,%d) = %g", i, j, r[i+j*k])
			}
			got, want := dot(r[i*k:(i+1)*k], r[j*k:(j+1)*k]), dot(a[i*m:(i+1)*m], a[j*m:(j+1)*m])
			if math.Abs(got-want) > 8*float64(m+k)*kernels.UnitRoundoff*float64(m) {
				t.Fatalf("RᵀR(%d,%d) = %g, want %g", i, j, got, want)
			}
		}
	}
	b.V = nil
	must(t, d.Sync())
	b.Tally[0].Changed = 1
	must(t, d.Copy(b.T[0], b.R[0]))
	must(t, d.Multiply(b))
	c := append(download(t, d, b.G[0].P), download(t, d, b.G[0].Q)...)
	for j := 0; j < k; j += 7 {
		for i := range m {
			var want, bound float64
			for l := range j + 1 {
				want += a[i+l*m] * r[l+j*k]
				bound += math.Abs(a[i+l*m] * r[l+j*k])
			}
			if math.Abs(c[i+j*m]-want) > 2*float64(k)*kernels.UnitRoundoff*bound {
				t.Fatalf("A·T(%d,%d) = %g, want %g", i, j, c[i+j*m], want)
			}
		}
	}
}

func dot(x, y []float64) (s float64) {
	for i := range x {
		s += x[i] * y[i]
	}
	return s
}

// TestBeside runs copies through the host from several goroutines beside the primitives.
func TestBeside(t *testing.T) {
	d := mustOpen(t, 0)
	p := newPivots(t, d, pointwiseOrder, []shape{{2000, 64, 64}})
	const words, copies = 1 << 16, 8
	done := make(chan error, copies)
	there, err := d.Alloc(copies * words * kernels.WordBytes)
	must(t, err)
	must(t, d.Sync())
	for c := range copies {
		go func() { done <- roundTrip(d, there+kernels.Address(c*words*kernels.WordBytes), words, float64(c)) }()
	}
	for range 20 {
		must(t, d.Gram(&p.batch))
		must(t, d.Cholesky(&p.batch))
		must(t, d.QR(&p.batch))
		must(t, d.Jacobi(&p.batch, p.option))
		must(t, d.Multiply(&p.batch))
	}
	for range copies {
		must(t, <-done)
	}
	must(t, d.Free(there))
	must(t, d.Sync())
	if tally := p.batch.Tally[0]; tally.Proper != 0 || tally.Broken != 0 {
		t.Errorf("after 20 steps: tally %+v", tally)
	}
}

// roundTrip stores numbers on the device and fetches them back.
func roundTrip(d *device, there kernels.Address, words int, first float64) error {
	bytes := int64(words * kernels.WordBytes)
	host, err := d.AllocHost(bytes)
	if err != nil {
		return err
	}
	x := structs[float64](host, words)
	for i := range x {
		x[i] = first + float64(i)
	}
	if err := d.Store(there, host, bytes); err != nil {
		return err
	}
	clear(x)
	if err := d.Fetch(host, there, bytes); err != nil {
		return err
	}
	for i := range x {
		if x[i] != first+float64(i) {
			return fmt.Errorf("word %d came back as %g", i, x[i])
		}
	}
	return d.FreeHost(host)
}

// TestPeer copies between two GPUs.
func TestPeer(t *testing.T) {
	a, b := mustOpen(t, 0), mustOpen(t, 1)
	p, q := newPivots(t, a, 2, []shape{{1000, 30, 1}}), newPivots(t, b, 2, []shape{{999, 30, 1}})
	from, to := p.batch.G[0].P, q.batch.G[0].P
	must(t, b.Copy(to, from.Rows(1, 1000)))
	x, y := download(t, a, from), download(t, b, to)
	for j := range 30 {
		for i := range 999 {
			if y[i+999*j] != x[i+1+1000*j] {
				t.Fatalf("element (%d,%d) is %g, want %g", i, j, y[i+999*j], x[i+1+1000*j])
			}
		}
	}
}
