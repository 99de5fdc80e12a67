package matrix

import (
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/gen"
)

// of returns the matrix with these elements, column-major.
func of(world comm.Comm, threads, m, n int, a []float64) *Matrix {
	s, err := Load(world, threads, m, n, func(j0, j1 int, dst []float64) error {
		copy(dst, a[j0*m:j1*m])
		return nil
	})
	if err != nil {
		panic(err) // cannot be
	}
	return s
}

// BenchmarkHost times the parts that the hosts compute, on one thread; the rate counts 4/3·n³ operations for
// a factorization, as many for the matrix Q of one, and 2·n³ for a product.
func BenchmarkHost(b *testing.B) {
	const n = 1024
	a := disttest.Generate(b, "gauss", gen.Options{Rows: n, Cols: n, Seed: 1})
	comm := comm.NewLocal(1)[0]
	rate := func(b *testing.B, flops float64) {
		b.ReportMetric(flops*n*n*n*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	}
	b.Run("QR", func(b *testing.B) {
		for b.Loop() {
			s := of(comm, 1, n, n, a)
			if _, _, err := Factor(s, Natural(s.N)); err != nil {
				b.Fatal(err)
			}
		}
		rate(b, 4./3)
	})
	b.Run("QRCP", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := Factor(of(comm, 1, n, n, a), nil); err != nil {
				b.Fatal(err)
			}
		}
		rate(b, 4./3)
	})
	b.Run("form", func(b *testing.B) {
		s := of(comm, 1, n, n, a)
		q, _, _ := Factor(s, Natural(s.N))
		for b.Loop() {
			if _, err := q.Form(1, 0, n); err != nil {
				b.Fatal(err)
			}
		}
		rate(b, 4./3)
	})
	b.Run("product", func(b *testing.B) {
		s := of(comm, 1, n, n, a)
		for b.Loop() {
			if _, err := TransposedProduct(s, s); err != nil {
				b.Fatal(err)
			}
		}
		rate(b, 2)
	})
}
