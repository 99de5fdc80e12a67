package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"jmpi/internal/nvidia"
	"jmpi/kernels"
)

// cublasLt is the part of NVIDIA's cuBLAS that multiplies by an algorithm of the caller's choice.
type cublasLt struct {
	cublasLtCreate, cublasLtDestroy, cublasLtMatmulDescCreate, cublasLtMatmulDescDestroy,
	cublasLtMatmulDescSetAttribute, cublasLtMatrixLayoutCreate, cublasLtMatrixLayoutDestroy,
	cublasLtMatmulPreferenceCreate, cublasLtMatmulPreferenceDestroy, cublasLtMatmulPreferenceSetAttribute,
	cublasLtMatmulAlgoGetHeuristic, cublasLtMatmulAlgoCheck, cublasLtMatmul uintptr
}

var loadLt = loader("cuBLASLt", nvidia.CUBLASLT, func(c *cublasLt) nvidia.Routines {
	return nvidia.Routines{
		"cublasLtCreate": &c.cublasLtCreate, "cublasLtDestroy": &c.cublasLtDestroy,
		"cublasLtMatmulDescCreate":             &c.cublasLtMatmulDescCreate,
		"cublasLtMatmulDescDestroy":            &c.cublasLtMatmulDescDestroy,
		"cublasLtMatmulDescSetAttribute":       &c.cublasLtMatmulDescSetAttribute,
		"cublasLtMatrixLayoutCreate":           &c.cublasLtMatrixLayoutCreate,
		"cublasLtMatrixLayoutDestroy":          &c.cublasLtMatrixLayoutDestroy,
		"cublasLtMatmulPreferenceCreate":       &c.cublasLtMatmulPreferenceCreate,
		"cublasLtMatmulPreferenceDestroy":      &c.cublasLtMatmulPreferenceDestroy,
		"cublasLtMatmulPreferenceSetAttribute": &c.cublasLtMatmulPreferenceSetAttribute,
		"cublasLtMatmulAlgoGetHeuristic":       &c.cublasLtMatmulAlgoGetHeuristic,
		"cublasLtMatmulAlgoCheck":              &c.cublasLtMatmulAlgoCheck,
		"cublasLtMatmul":                       &c.cublasLtMatmul,
	}
})

// Values of cuBLASLt's enumerations.
const (
	computeSingle, computeDouble = 68, 70 // no emulation, no TF32
	realSingle, realDouble       = 0, 1

	productTransA = 3

	preferWorkspace = 1
	preferAlignment = 5 // of A; B, C and the result follow
)

// matmul multiplies matrices by cuBLASLt. An algorithm adds the products of an element in an order of its
// own, wherever the element is. It is chosen for the product with all columns (kernels.Gemm, Of). So a column
// has the same bits whichever others are there. Every lane has a workspace of its own.
type matmul struct {
	api                *cublasLt
	handle, preference uintptr
	descriptors        map[productKind]uintptr
	algorithms         map[product]algorithm
}

// productKind is what a descriptor of a product says.
type productKind struct {
	element kernels.Element
	transA  bool
}

// product is what the choice of an algorithm depends on.
type product struct {
	productKind
	m, n, k int
	aligned bool // all columns begin at multiples of productAlignment
}

// candidates is how many algorithms are looked at: some do not serve for a single column.
const candidates = 16

// productAlignment is the alignment in bytes of what a thread reads at a time.
const productAlignment = 16

// algorithm is cublasLtMatmulHeuristicResult_t.
type algorithm struct {
	how       [8]uint64
	workspace uint64
	state     int32
	_         [5]int32
}

func (l *matmul) check(call string, code int32) error {
	return checkCall("cuBLASLt", call, code)
}

func (l *matmul) open(d *device) error {
	if l.handle != 0 {
		return nil
	}
	var err error
	if l.api, err = loadLt(); err != nil {
		return err
	}
	l.descriptors, l.algorithms = map[productKind]uintptr{}, map[product]algorithm{}
	var preference, handle uintptr
	if err := l.check("cublasLtMatmulPreferenceCreate", nvidia.Invoke(l.api.cublasLtMatmulPreferenceCreate,
		uintptr(unsafe.Pointer(&preference)))); err != nil {
		return err
	}
	l.preference = preference
	bytes := uint64(blasWorkspace)
	if err := l.prefer(preferWorkspace, unsafe.Pointer(&bytes), unsafe.Sizeof(bytes)); err != nil {
		return err
	}
	err = l.check("cublasLtCreate", nvidia.Invoke(l.api.cublasLtCreate, uintptr(unsafe.Pointer(&handle))))
	l.handle = handle
	return err
}

// prefer sets an attribute of the preference.
func (l *matmul) prefer(attribute uintptr, value unsafe.Pointer, bytes uintptr) error {
	return l.check("cublasLtMatmulPreferenceSetAttribute", nvidia.Invoke(
		l.api.cublasLtMatmulPreferenceSetAttribute, l.preference, attribute, uintptr(value), bytes))
}

// gemm queues C ← α·op(A)·op(B) + β·C, where C is some columns of a matrix of g.Of. No size is 0.
func (l *matmul) gemm(d *device, g kernels.Gemm) error {
	if err := l.open(d); err != nil {
		return err
	}
	p := product{productKind{g.C.Type, g.TransA}, g.C.M, g.Of, g.Inner(), aligned(g.A, g.B, g.C)}
	descriptor, err := l.descriptor(p.productKind)
	if err != nil {
		return err
	}
	how, err := l.algorithm(p, descriptor)
	if err != nil {
		return err
	}
	workspace, err := d.need("cuBLAS", blasWorkspace)
	if err != nil {
		return err
	}
	err = l.layouts([3]kernels.Panel{g.A, g.B, g.C}, func(a, b, c uintptr) error {
		alpha, beta := newScalar(g.Alpha), newScalar(g.Beta)
		return l.check("cublasLtMatmul", nvidia.Invoke(l.api.cublasLtMatmul, l.handle, descriptor,
			uintptr(alpha.of(p.element)), uintptr(g.A.Data), a, uintptr(g.B.Data), b, uintptr(beta.of(p.element)),
			uintptr(g.C.Data), c, uintptr(g.C.Data), c, uintptr(unsafe.Pointer(&how.how)), uintptr(workspace),
			blasWorkspace, d.stream))
	})
	if err != nil {
		return fmt.Errorf("%d columns of a product of %d×%d and %d×%d: %w", g.C.N, p.m, p.k, p.k, p.n, err)
	}
	return nil
}

// aligned tells whether all columns of panels begin at multiples of productAlignment.
func aligned(panels ...kernels.Panel) bool {
	for _, p := range panels {
		if p.Data%productAlignment != 0 || p.Ld*p.Type.Bytes()%productAlignment != 0 {
			return false
		}
	}
	return true
}

// descriptor returns the descriptor of the products of a kind.
func (l *matmul) descriptor(kind productKind) (uintptr, error) {
	if found, ok := l.descriptors[kind]; ok {
		return found, nil
	}
	compute, scale := uintptr(computeDouble), uintptr(realDouble)
	if kind.element == kernels.Float32 {
		compute, scale = computeSingle, realSingle
	}
	var made uintptr
	if err := l.check("cublasLtMatmulDescCreate", nvidia.Invoke(l.api.cublasLtMatmulDescCreate,
		uintptr(unsafe.Pointer(&made)), compute, scale)); err != nil {
		return 0, err
	}
	l.descriptors[kind] = made
	value := int32(operation(kind.transA))
	return made, l.check("cublasLtMatmulDescSetAttribute", nvidia.Invoke(l.api.cublasLtMatmulDescSetAttribute,
		made, productTransA, uintptr(unsafe.Pointer(&value)), unsafe.Sizeof(value)))
}

// algorithm returns how a product is formed: by the first that cuBLASLt advises that serves for one of the
// columns too.
func (l *matmul) algorithm(p product, descriptor uintptr) (how algorithm, err error) {
	if found, ok := l.algorithms[p]; ok {
		return found, nil
	}
	alignment := uint32(p.element.Bytes())
	if p.aligned {
		alignment = productAlignment
	}
	for k := range uintptr(4) {
		if err := l.prefer(preferAlignment+k, unsafe.Pointer(&alignment), unsafe.Sizeof(alignment)); err != nil {
			return how, err
		}
	}
	// Leading dimensions count as far as they are aligned.
	shape := func(m, n int) kernels.Panel {
		at := productAlignment / p.element.Bytes()
		ld := (m + at - 1) / at * at
		if !p.aligned {
			ld++
		}
		return kernels.Panel{M: m, N: n, Ld: ld, Type: p.element}
	}
	all := [3]kernels.Panel{shape(p.m, p.k), shape(p.k, p.n), shape(p.m, p.n)}
	if p.transA {
		all[0] = shape(p.k, p.m)
	}
	var found [candidates]algorithm
	var count int32
	err = l.layouts(all, func(a, b, c uintptr) error {
		return l.check("cublasLtMatmulAlgoGetHeuristic", nvidia.Invoke(l.api.cublasLtMatmulAlgoGetHeuristic,
			l.handle, descriptor, a, b, c, c, l.preference, candidates, uintptr(unsafe.Pointer(&found)),
			uintptr(unsafe.Pointer(&count))))
	})
	all[1].N, all[2].N = 1, 1
	err = errors.Join(err, l.layouts(all, func(a, b, c uintptr) error {
		for _, how = range found[:count] {
			var checked algorithm
			if how.state == 0 && nvidia.Invoke(l.api.cublasLtMatmulAlgoCheck, l.handle, descriptor, a, b, c, c,
				uintptr(unsafe.Pointer(&how.how)), uintptr(unsafe.Pointer(&checked))) == 0 {
				return nil
			}
		}
		return fmt.Errorf("none of %d algorithms serves for one of the columns", count)
	}))
	if err != nil {
		return how, fmt.Errorf("a product of %d×%d and %d×%d: %w", p.m, p.k, p.k, p.n, err)
	}
	l.algorithms[p] = how
	return how, nil
}

// layouts calls f with the layouts of three panels.
func (l *matmul) layouts(panels [3]kernels.Panel, f func(a, b, c uintptr) error) (err error) {
	var made [3]uintptr
	for i, p := range panels {
		element := uintptr(realDouble)
		if p.Type == kernels.Float32 {
			element = realSingle
		}
		var layout uintptr
		if err = l.check("cublasLtMatrixLayoutCreate", nvidia.Invoke(l.api.cublasLtMatrixLayoutCreate,
			uintptr(unsafe.Pointer(&layout)), element, uintptr(p.M), uintptr(p.N), leading(p))); err != nil {
			break
		}
		made[i] = layout
	}
	if err == nil {
		err = f(made[0], made[1], made[2])
	}
	for _, layout := range made {
		if layout != 0 {
			err = errors.Join(err, l.check("cublasLtMatrixLayoutDestroy", nvidia.Invoke(
				l.api.cublasLtMatrixLayoutDestroy, layout)))
		}
	}
	return err
}

func (l *matmul) close() (err error) {
	if l.preference != 0 {
		err = l.check("cublasLtMatmulPreferenceDestroy", nvidia.Invoke(l.api.cublasLtMatmulPreferenceDestroy,
			l.preference))
	}
	for _, descriptor := range l.descriptors {
		err = errors.Join(err, l.check("cublasLtMatmulDescDestroy", nvidia.Invoke(l.api.cublasLtMatmulDescDestroy,
			descriptor)))
	}
	if l.handle != 0 {
		err = errors.Join(err, l.check("cublasLtDestroy", nvidia.Invoke(l.api.cublasLtDestroy, l.handle)))
	}
	*l = matmul{}
	return err
}
