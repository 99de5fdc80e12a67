package matrix

import (
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// on returns so many CPU devices of a rank.
func on(t testing.TB, world comm.Comm, count int) *Devices { return sending(t, world, count, true) }

// sending is on, with messages between the memories of devices, or through that of the hosts.
func sending(t testing.TB, world comm.Comm, count int, direct bool) *Devices {
	var backends []kernels.Backend
	for range count {
		backends = append(backends, disttest.OpenHost(t, 1))
	}
	d, err := NewDevices(world, backends, direct)
	if err != nil {
		t.Error(err)
	}
	return d
}

// of returns the matrix with these elements, column-major.
func of(t testing.TB, d *Devices, m, n int, a []float64) *Matrix {
	s, err := d.Load(m, n, Source{Read: func(p Part) error {
		for j := range p.N {
			copy(p.Data[j*p.Ld:j*p.Ld+p.M], a[(p.Column+j)*m+p.Row:])
		}
		return nil
	}})
	if err != nil {
		t.Error(err)
	}
	return s
}

// copyTo puts the elements that this rank has into a.
func (s *Matrix) copyTo(t testing.TB, a []float64) {
	err := s.EachBlock(func(j0, j1 int, x []float64) error {
		copy(a[j0*s.M:j1*s.M], x)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// BenchmarkHost times factorizations and products on a CPU device, on one thread; the rate counts 4/3·n³
// operations for a factorization, as many for the matrix Q of one, and 2·n³ for a product.
func BenchmarkHost(b *testing.B) {
	const n = 1024
	a := disttest.Generate(b, "gauss", gen.Options{Rows: n, Cols: n, Seed: 1})
	d := on(b, comm.NewLocal(1)[0], 1)
	rate := func(b *testing.B, flops float64) {
		b.ReportMetric(flops*n*n*n*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	}
	b.Run("QR", func(b *testing.B) {
		for b.Loop() {
			s := of(b, d, n, n, a)
			if _, err := Factor(s); err != nil {
				b.Fatal(err)
			}
		}
		rate(b, 4./3)
	})
	b.Run("QRCP", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := decomposed(of(b, d, n, n, a), true); err != nil {
				b.Fatal(err)
			}
		}
		rate(b, 4./3)
	})
	b.Run("form", func(b *testing.B) {
		s := of(b, d, n, n, a)
		q, _ := Factor(s)
		for b.Loop() {
			if _, err := q.Form(0, n); err != nil {
				b.Fatal(err)
			}
		}
		rate(b, 4./3)
	})
	b.Run("product", func(b *testing.B) {
		s := of(b, d, n, n, a)
		for b.Loop() {
			if _, err := TransposedProduct(s, s); err != nil {
				b.Fatal(err)
			}
		}
		rate(b, 2)
	})
}
