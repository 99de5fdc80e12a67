package cpu

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/blas"

	"jmpi/kernels"
)

const benchRows = 2048

// benchmark runs f on batches of pivots of 2048 rows, one thread, widths 16, 32, 48 and 64. The time reported
// is that of a batch, which has 1024 columns in all, so that it comes from beyond the second-level cache.
// flops is the work of one problem of order k: it is reported as GFLOP/s.
func benchmark(b *testing.B, flops func(k float64) float64, f func(p *problem) error) {
	for _, w := range []int{16, 32, 48, 64} {
		b.Run(fmt.Sprintf("w=%d", w), func(b *testing.B) {
			shapes := make([]shape, 512/w)
			for i := range shapes {
				shapes[i] = shape{benchRows, w, w}
			}
			p := newProblem(b, mustOpen(b, 1, "avx512"), 2*w, shapes)
			must(b, p.d.Gram(&p.batch))
			for b.Loop() {
				must(b, f(p))
			}
			problems := float64(b.N) * float64(len(shapes))
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/problems, "ns/problem")
			if flops != nil {
				b.ReportMetric(flops(float64(2*w))*problems/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
			}
		})
	}
}

// gramFlops counts both triangles once, multiplyFlops the product with G alone.
func gramFlops(k float64) float64     { return benchRows * k * k }
func multiplyFlops(k float64) float64 { return 2 * benchRows * k * k }

func BenchmarkGram(b *testing.B) {
	benchmark(b, gramFlops, func(p *problem) error { return p.d.Gram(&p.batch) })
}

// BenchmarkGramOpenBLAS is the same by one dsyrk, which wants P and Q side by side and fills one triangle.
func BenchmarkGramOpenBLAS(b *testing.B) {
	benchmark(b, gramFlops, func(p *problem) error {
		for i, g := range p.batch.G {
			a, h := whole(g), p.batch.R[i]
			openblas.Dsyrk(blas.Lower, blas.NoTrans, a.N, a.M, 1, elements(a), a.Ld, 0, elements(h), h.Ld)
		}
		return nil
	})
}

func BenchmarkMultiply(b *testing.B) {
	benchmark(b, multiplyFlops, func(p *problem) error {
		p.batch.V = nil
		for i, t := range p.batch.T {
			p.batch.Tally[i].Changed = 1
			if err := p.d.Identity(t, 0); err != nil {
				return err
			}
		}
		return p.d.Multiply(&p.batch)
	})
}

// BenchmarkMultiplyOpenBLAS is the same by dgemm on pieces of 256 rows, as large factors are multiplied.
func BenchmarkMultiplyOpenBLAS(b *testing.B) {
	benchmark(b, multiplyFlops, func(p *problem) error {
		for i, g := range p.batch.G {
			if err := p.d.Identity(p.batch.T[i], 0); err != nil {
				return err
			}
			for row := 0; row < benchRows; row += largeRows {
				piece := kernels.Pivot{P: g.P.Rows(row, row+largeRows), Q: g.Q.Rows(row, row+largeRows)}
				if err := largeMultiply(&p.d.work[0], piece, product{t: p.batch.T[i]}); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// BenchmarkDgemm is the speed of OpenBLAS at its best.
func BenchmarkDgemm(b *testing.B) {
	const n = 1024
	x, y, z := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
	mustOpen(b, 1, "avx512")
	for b.Loop() {
		openblas.Dgemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, x, n, y, n, 0, z, n)
	}
	b.ReportMetric(2*n*n*n*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
}

func BenchmarkCholesky(b *testing.B) {
	for _, w := range []int{16, 32, 48, 64} {
		b.Run(fmt.Sprintf("w=%d", w), func(b *testing.B) {
			p := newProblem(b, mustOpen(b, 1, "avx512"), 2*w, []shape{{benchRows, w, w}})
			must(b, p.d.Gram(&p.batch))
			h := p.batch.R[0]
			keep := p.panel(b, h.M, h.N)
			must(b, p.d.Copy(keep, h))
			for b.Loop() {
				must(b, p.d.Copy(h, keep))
				must(b, p.d.Cholesky(&p.batch))
			}
		})
	}
}

func BenchmarkQR(b *testing.B) {
	benchmark(b, func(k float64) float64 { return 2 * benchRows * k * k }, func(p *problem) error {
		for i := range p.batch.Tally {
			p.batch.Tally[i].Broken = 1
		}
		return p.d.QR(&p.batch)
	})
}

// BenchmarkJacobi runs one sweep, and all sweeps, on the factors of random pivots; BenchmarkHyperbolicJacobi
// with half of the columns of sign −1.
func BenchmarkJacobi(b *testing.B)           { benchmarkJacobi(b, false) }
func BenchmarkHyperbolicJacobi(b *testing.B) { benchmarkJacobi(b, true) }

func benchmarkJacobi(b *testing.B, hyperbolic bool) {
	for _, sweeps := range []int{1, 30} {
		for _, w := range []int{16, 32, 48, 64} {
			b.Run(fmt.Sprintf("sweeps=%d/w=%d", sweeps, w), func(b *testing.B) {
				p := newProblem(b, mustOpen(b, 1, "avx512"), 2*w, []shape{{benchRows, w, w}})
				must(b, p.d.Gram(&p.batch))
				must(b, p.d.Cholesky(&p.batch))
				r := p.batch.R[0]
				keep := p.panel(b, r.M, r.N)
				must(b, p.d.Copy(keep, r))
				p.option.MaxSweeps = sweeps
				if hyperbolic {
					p.batch.Positive = []int{w}
				}
				for b.Loop() {
					must(b, p.d.Copy(r, keep))
					must(b, p.d.Jacobi(&p.batch, p.option))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(p.batch.Tally[0].Rotations), "ns/rotation")
			})
		}
	}
}

// whole returns the columns of P and Q, which lie side by side.
func whole(g kernels.Pivot) kernels.Panel {
	a := g.P
	a.N += g.Q.N
	return a
}
