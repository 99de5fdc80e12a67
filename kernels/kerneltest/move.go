package kerneltest

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"jmpi/kernels"
)

// Memory tests Alloc and Free: zeroed, aligned to 256 bytes, 0 bytes allowed, ErrMemory for what no
// device has.
func Memory(t *testing.T, b kernels.Backend) {
	for _, bytes := range []int64{0, 8, 1000, 1 << 20} {
		a, err := b.Alloc(bytes)
		must(t, err)
		if a%256 != 0 {
			t.Errorf("%d bytes at %#x, not aligned to 256", bytes, uintptr(a))
		}
		n := int(bytes / kernels.WordBytes)
		host := nan(n, 1)
		must(t, b.Read(host.a, max(n, 1), kernels.Panel{M: n, N: 1, Ld: n, Data: a}))
		for i, v := range host.a {
			if v != 0 {
				t.Fatalf("%d bytes: element %d is %g, not zero", bytes, i, v)
			}
		}
		must(t, b.Free(a))
	}
	if _, err := b.Alloc(1 << 60); !errors.Is(err, kernels.ErrMemory) {
		t.Errorf("2⁶⁰ bytes: %v, want ErrMemory", err)
	}
	if d := b.Describe(); d.Kind == "" || d.Name == "" || d.Memory <= 0 || d.Library == "" {
		t.Errorf("incomplete description %+v", d)
	}
	if l := b.Limits(); l.PointwiseOrder < 32 || l.Width < 1 || 2*l.Width > l.PointwiseOrder || l.Align < 1 {
		t.Errorf("impossible limits %+v", l)
	}
}

// Move tests Write, Read and Copy, whole panels and parts of them.
func Move(t *testing.T, b kernels.Backend) {
	for _, s := range []struct{ m, n int }{{0, 0}, {0, 3}, {3, 0}, {1, 1}, {7, 5}, {64, 64}, {1001, 333}} {
		a := random(newRand(s.m), s.m, s.n)
		src, dst := upload(t, b, a), upload(t, b, nan(s.m, s.n))
		must(t, b.Copy(dst.Panel, src.Panel))
		equal(t, dst.download(), a)
		if s.m < 3 || s.n < 3 {
			continue
		}
		// The inner part of dst is replaced by that of src, one row up.
		z := newMatrix(s.m, s.n)
		must(t, b.Write(dst.Panel, z.a, s.m))
		must(t, b.Copy(dst.Columns(1, s.n-1).Rows(0, s.m-2), src.Columns(1, s.n-1).Rows(1, s.m-1)))
		for j := 1; j < s.n-1; j++ {
			copy(z.column(j), a.column(j)[1:s.m-1])
		}
		equal(t, dst.download(), z)
	}
}

// Identity tests Identity with the ones on, above, below and beside the panel.
func Identity(t *testing.T, b kernels.Backend) {
	for _, row0 := range []int{0, 2, 8, 100, -1} {
		p := upload(t, b, random(newRand(row0), 9, 5))
		must(t, b.Identity(p.Panel, row0))
		want := newMatrix(9, 5)
		for j := range 5 {
			if i := j + row0; i >= 0 && i < 9 {
				want.set(i, j, 1)
			}
		}
		equal(t, p.download(), want)
	}
}

// ColumnNorms tests the norms of columns near overflow and underflow, where plain sums of squares fail.
func ColumnNorms(t *testing.T, b kernels.Backend) {
	scales := []float64{1, 0, 0x1p-500, 0x1p-530, 0x1p-600, 0x1p-1000, 0x1p500, 0x1p520, 0x1p1010}
	for _, m := range []int{0, 1, 7, 8, 333} {
		base := random(newRand(m), m, 1)
		norm := math.Sqrt(dot(base.a, base.a))
		a := newMatrix(m, len(scales))
		for j, s := range scales {
			copy(a.column(j), base.a)
			a.scaleColumn(j, s)
		}
		got, err := b.ColumnNorms(upload(t, b, a).Panel)
		must(t, err)
		for j, s := range scales {
			if want := norm * s; math.Abs(got[j]-want) > float64(m+2)*roundoff*want {
				t.Errorf("m = %d, scale %g: norm %g, want %g", m, s, got[j], want)
			}
		}
	}
	mixed := matrix{3, 4, []float64{3e-200, 4e-200, 0, 3e200, 4e200, 1e-200, 1e-200, 1, 0, math.NaN(), 1, 1}}
	got, err := b.ColumnNorms(upload(t, b, mixed).Panel)
	must(t, err)
	for j, want := range []float64{5e-200, 5e200, 1} {
		if math.Abs(got[j]-want) > 4*roundoff*want {
			t.Errorf("column %d: norm %g, want %g", j, got[j], want)
		}
	}
	if got[3] == got[3] {
		t.Errorf("the norm of a column with a NaN is %g", got[3])
	}
}

// Product tests products with a few vectors, and that those of one column have the same bits beside
// other columns.
func Product(t *testing.T, b kernels.Backend) {
	for _, s := range []struct{ m, n, count int }{{0, 3, 2}, {3, 0, 2}, {3, 3, 0}, {1, 1, 1}, {7, 5, 3},
		{1001, 333, 4}, {64, 700, 9}} {
		r := newRand(s.m + s.n)
		a := random(r, s.m, s.n)
		p := upload(t, b, a)
		for _, transposed := range []bool{false, true} {
			factor := a
			if !transposed {
				factor = newMatrix(s.n, s.m) // aᵀ
				for i := range s.m {
					for j := range s.n {
						factor.set(j, i, a.at(i, j))
					}
				}
			}
			x := random(r, factor.m, s.count)
			got, err := b.Product(p.Panel, transposed, x.a, s.count)
			must(t, err)
			parts, tiny := 1, float64(factor.m+2)*2*roundoff
			if !transposed {
				parts, tiny = 2, float64(factor.m+2)*4*roundoff*roundoff
			}
			if len(got) != parts*factor.n*s.count {
				t.Fatalf("%d×%d, %d vectors: %d numbers, want %d", s.m, s.n, s.count, len(got), parts*factor.n*s.count)
			}
			for k := range s.count {
				for j := range factor.n {
					bound, want := 0.0, new(big.Float).SetPrec(400)
					for i, e := range factor.column(j) {
						bound += math.Abs(e * x.at(i, k))
						term := new(big.Float).SetPrec(400).SetFloat64(e)
						want.Add(want, term.Mul(term, big.NewFloat(x.at(i, k))))
					}
					for part := range parts {
						want.Sub(want, big.NewFloat(got[part*factor.n*s.count+k*factor.n+j]))
					}
					if e, _ := want.Float64(); !(math.Abs(e) <= tiny*bound) {
						t.Fatalf("%d×%d, transposed %v: element %d of product %d is off by %g", s.m, s.n, transposed, j, k, e)
					}
				}
			}
			if !transposed || s.n < 3 {
				continue
			}
			alone, err := b.Product(p.Columns(2, 3), true, x.a, s.count)
			must(t, err)
			for k := range s.count {
				if !same(alone[k], got[k*s.n+2]) {
					t.Fatalf("%d×%d: column 2 alone gives %g, with others %g", s.m, s.n, alone[k], got[k*s.n+2])
				}
			}
		}
	}
	p := upload(t, b, newMatrix(3, 2))
	if _, err := b.Product(p.Panel, true, make([]float64, 4), 2); !errors.Is(err, kernels.ErrShape) {
		t.Errorf("vectors of another length: %v", err)
	}
}

// equal compares two matrices bit by bit.
func equal(t *testing.T, got, want matrix) {
	t.Helper()
	for j := range want.n {
		for i := range want.m {
			if !same(got.at(i, j), want.at(i, j)) {
				t.Fatalf("element (%d,%d) is %g, want %g", i, j, got.at(i, j), want.at(i, j))
			}
		}
	}
}
