package selftest

import (
	"errors"
	"math"
	"strings"
	"testing"

	"jmpi/kernels"
	"jmpi/kernels/cpu"
)

func open(t *testing.T, threads int) kernels.Backend {
	t.Helper()
	be, err := cpu.Open(threads)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := be.Close(); err != nil {
			t.Error(err)
		}
	})
	return be
}

// A device that computes right passes everything, and errors stay well below the bounds.
func TestRightDevicePasses(t *testing.T) {
	device, reference := open(t, 2), open(t, 1)
	results := append(Run(device, reference), Copy(device, reference))
	for _, r := range results {
		if !r.Passed() || !(r.Worst < 0.5) || !strings.HasPrefix(r.String(), "PASSED") {
			t.Errorf("%s: %v", r.Primitive, r)
		}
	}
}

// faulty spoils the result of one primitive in a single element, or fails.
type faulty struct {
	kernels.Backend
	primitive string
	factor    float64 // of the spoilt element
	fails     bool
}

var errFault = errors.New("fault")

// Limits makes the tests of Jacobi small.
func (f *faulty) Limits() kernels.Limits {
	l := f.Backend.Limits()
	l.PointwiseOrder = 32
	return l
}

// spoil changes the first element of a panel.
func (f *faulty) spoil(primitive string, p kernels.Panel, err error) error {
	if primitive != f.primitive || err != nil {
		return err
	}
	if f.fails {
		return errFault
	}
	x := []float64{0}
	one := kernels.Panel{M: 1, N: 1, Ld: p.Ld, Data: p.Data}
	if err := f.Backend.Sync(); err != nil {
		return err
	}
	if err := f.Backend.Read(x, 1, one); err != nil {
		return err
	}
	x[0] *= f.factor
	return f.Backend.Write(one, x, 1)
}

func (f *faulty) Copy(dst, src kernels.Panel) error {
	return f.spoil("memory", dst, f.Backend.Copy(dst, src))
}
func (f *faulty) Identity(dst kernels.Panel, row0 int) error {
	return f.spoil("identity", dst.Rows(row0, dst.M), f.Backend.Identity(dst, row0))
}
func (f *faulty) Gram(b *kernels.Batch) error { return f.spoil("gram", b.R[1], f.Backend.Gram(b)) }
func (f *faulty) Cholesky(b *kernels.Batch) error {
	return f.spoil("cholesky", b.R[1], f.Backend.Cholesky(b))
}
func (f *faulty) Transpose(dst, src []kernels.Panel) error {
	return f.spoil("elements", dst[0], f.Backend.Transpose(dst, src))
}
func (f *faulty) Gemm(p []kernels.Gemm) error { return f.spoil("gemm", p[0].C, f.Backend.Gemm(p)) }
func (f *faulty) Reflect(q kernels.Reflectors, transposed bool, c []kernels.Panel, of int) error {
	return f.spoil("panel", c[0], f.Backend.Reflect(q, transposed, c, of))
}
func (f *faulty) QR(b *kernels.Batch) error { return f.spoil("qr", b.R[1], f.Backend.QR(b)) }
func (f *faulty) Multiply(b *kernels.Batch) error {
	return f.spoil("multiply", b.V[1].P, f.Backend.Multiply(b))
}
func (f *faulty) Jacobi(b *kernels.Batch, o kernels.JacobiOptions) error {
	name := "jacobi-sigma"
	if o.MaxSweeps == 1 {
		name = "rotations"
	}
	err := f.Backend.Jacobi(b, o)
	return f.spoil("jacobi-t", b.T[1], f.spoil(name, b.R[len(b.R)-1], err)) // the last factor is 1×1: σ itself
}
func (f *faulty) ColumnNorms(p kernels.Panel) ([]float64, error) {
	norms, err := f.Backend.ColumnNorms(p)
	if f.primitive == "norms" {
		norms[7] *= f.factor
		if f.fails {
			err = errFault
		}
	}
	return norms, err
}

// A device with one wrong element fails in the primitive where it is wrong, and there alone.
func TestFaultyDeviceFails(t *testing.T) {
	be, reference := open(t, 1), open(t, 1)
	for _, spoilt := range tests {
		for _, r := range Run(&faulty{Backend: be, primitive: spoilt.primitive, factor: 1 + 1e-9}, reference) {
			if failed := r.Primitive == spoilt.primitive; failed == r.Passed() {
				t.Errorf("%s is wrong: %s %v", spoilt.primitive, r.Primitive, r)
			}
		}
		if r := spoilt.run(&faulty{Backend: be, primitive: spoilt.primitive, factor: math.NaN()},
			reference); r.Passed() {
			t.Errorf("%s is NaN: %v", spoilt.primitive, r)
		}
		r := spoilt.run(&faulty{Backend: be, primitive: spoilt.primitive, fails: true}, reference)
		if r.Passed() || !errors.Is(r.Err, errFault) || !strings.Contains(r.String(), "FAILED (fault)") {
			t.Errorf("%s fails: %v", spoilt.primitive, r)
		}
	}
}
