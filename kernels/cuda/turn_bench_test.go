package cuda

import (
	"fmt"
	"testing"

	"jmpi/kernels"
)

// turnRoom is how many columns Gemm forms at a time.
const turnRoom = 256

// BenchmarkTurn times products of neighbouring columns with square matrices, by events, as milliseconds: by
// Gemm into other memory and MoveColumns, and by TurnColumns, in turn. GB/s are those of TurnColumns, if it
// reads and writes the columns once.
func BenchmarkTurn(b *testing.B) {
	for _, s := range []struct{ count, k, m int }{{1400, 2, 4096}, {400, 12, 4096}, {700, 24, 8192},
		{200, 64, 8192}, {100, 128, 8192}} {
		b.Run(fmt.Sprintf("%dx%d/m=%d", s.count, s.k, s.m), func(b *testing.B) {
			p := &pivots{d: mustOpen(b, 0)}
			a, q, room := p.panel(b, s.m, s.count*s.k), p.panel(b, s.k, s.k), p.panel(b, s.m, turnRoom)
			must(b, p.d.Write(q, reflector(s.k), s.k))
			list, squares, x := make([]kernels.Panel, s.count), make([]kernels.Panel, s.count), normal(s.m, s.k)
			for i := range list {
				list[i], squares[i] = a.Columns(i*s.k, (i+1)*s.k), q
				must(b, p.d.Write(list[i], x, s.m))
			}
			must(b, turnByProducts(p.d, a, q, room)) // which allocates, and loads what it needs
			must(b, p.d.TurnColumns(list, squares))
			must(b, p.d.Sync())
			var products, turned float64
			for b.Loop() {
				start := p.d.mark(b)
				must(b, turnByProducts(p.d, a, q, room))
				middle := p.d.mark(b)
				must(b, p.d.TurnColumns(list, squares))
				end := p.d.mark(b)
				must(b, p.d.Sync())
				products += p.d.between(b, start, middle)
				turned += p.d.between(b, middle, end)
			}
			b.ReportMetric(products/float64(b.N)*1e3, "products-ms")
			b.ReportMetric(turned/float64(b.N)*1e3, "turned-ms")
			b.ReportMetric(2*float64(a.Bytes())*float64(b.N)/turned/1e9, "GB/s")
		})
	}
}

// turnByProducts multiplies each q.N columns of a by q, as many at a time as there is room for.
func turnByProducts(d *device, a, q, room kernels.Panel) error {
	some := room.N / q.N * q.N
	for j0 := 0; j0 < a.N; j0 += some {
		j1 := min(j0+some, a.N)
		var products []kernels.Gemm
		var to, from []int
		for j := j0; j < j1; j += q.N {
			products = append(products, kernels.Gemm{Alpha: 1, A: a.Columns(j, j+q.N), B: q,
				C: room.Columns(j-j0, j-j0+q.N)})
		}
		for j := j0; j < j1; j++ {
			to, from = append(to, j), append(from, j-j0)
		}
		if err := d.Gemm(products); err != nil {
			return err
		}
		if err := d.MoveColumns(a, to, room, from); err != nil {
			return err
		}
	}
	return nil
}

// reflector returns an orthogonal k×k matrix, I − 2·v·vᵀ/k, where v are ones.
func reflector(k int) []float64 {
	q := make([]float64, k*k)
	for i := range q {
		q[i] = -2 / float64(k)
		if i%(k+1) == 0 {
			q[i]++
		}
	}
	return q
}
