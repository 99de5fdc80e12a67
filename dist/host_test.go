package dist

import (
	"testing"

	"jmpi/internal/gen"
)

// sheetOf returns the sheet of a column-major matrix on one rank.
func sheetOf(comm Comm, threads, m, n int, a []float64) *sheet {
	s := newSheet(comm, threads, m, n)
	s.columns(func(j int, x []float64) error {
		copy(x, a[j*m:(j+1)*m])
		return nil
	})
	return s
}

// BenchmarkHost times the parts that the hosts compute, on one thread; the rate counts 4/3·n³ operations for a factorization, as many for
// the matrix Q of one, and 2·n³ for a product.
func BenchmarkHost(b *testing.B) {
	const n = 1024
	a := matrix(b, "gauss", gen.Options{Rows: n, Cols: n, Seed: 1})
	comm := NewLocal(1)[0]
	rate := func(b *testing.B, flops float64) {
		b.ReportMetric(flops*n*n*n*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	}
	b.Run("QR", func(b *testing.B) {
		for b.Loop() {
			s := sheetOf(comm, 1, n, n, a)
			s.factor(s.natural())
		}
		rate(b, 4./3)
	})
	b.Run("QRCP", func(b *testing.B) {
		for b.Loop() {
			sheetOf(comm, 1, n, n, a).factor(nil)
		}
		rate(b, 4./3)
	})
	b.Run("form", func(b *testing.B) {
		s := sheetOf(comm, 1, n, n, a)
		q, _, _ := s.factor(s.natural())
		for b.Loop() {
			q.form(1, 0, n)
		}
		rate(b, 4./3)
	})
	b.Run("product", func(b *testing.B) {
		s := sheetOf(comm, 1, n, n, a)
		for b.Loop() {
			transposedProduct(s, s)
		}
		rate(b, 2)
	})
}
