package dist

import (
	"math"
	"math/rand/v2"
	"slices"

	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
	"jmpi/internal/dense"
	"jmpi/kernels"
)

// The limits of what rounding errors may do to a hyperbolic SVD, in units of ε = 2⁻⁵². Those of the residual
// and of VᵀJV are below the check's, 10, since they are estimates.
const (
	columnLimit   = 32  // times √m·Σᵢ|w_ij|·‖x_i‖, for ‖X·w_j − g_j‖
	residualBound = 3.5 // times m·‖S‖·‖V‖, for ‖X − U·S·Vᵀ‖_F
	signLimit     = 3.5 // times ‖V‖_F², for ‖VᵀJV − J‖_F
	exactLimit    = 8   // the same, where it is no estimate
	// hugeV is the ‖V‖_F² beyond which S has not even three digits: ε·hugeV = 2e-3.
	hugeV = 1e13
)

// Fidelity tells how far a hyperbolic SVD is from one, each figure in units of what rounding errors may do.
type Fidelity struct {
	Columns  float64 `json:"columns"`  // the worst column of X·W − G
	Residual float64 `json:"residual"` // X − U·S·Vᵀ, or a bound
	Signs    float64 `json:"signs"`    // VᵀJV − J
	Again    string  `json:"again"`    // why the result comes from the second way, empty if it does not
}

// holds tells whether all of it is rounding errors. NaN is not.
func (f Fidelity) holds() bool { return f.Columns <= 1 && f.Residual <= 1 && f.Signs <= 1 }

// Numbers of random vectors: enough that none of them is nearly orthogonal to what it should see in one of
// many columns, and in one matrix.
const (
	columnProbes = 4
	matrixProbes = 8
)

// fidelity measures X·W = G with WᵀJW = J, where the norms of G's columns are sigma and ‖W‖_F = norm, by
// products with random vectors y, z:
//
//	X·w_j − g_j    from  (Xᵀy)ᵀ·w_j − yᵀ·g_j,  for each column
//	X − U·S·Vᵀ     from  Xᵀy − V·(Gᵀy),  V = J·W·J
//	WᵀJW − J       from  Wᵀ·(J·(W·z)) − J·z
//
// ‖X·W − G‖·‖V‖, which is known from the first, bounds the second; only where it is too large the second
// itself is formed. With even, the columns of W are as good as the largest of them, not each by itself. It
// takes O(n²) operations, and is collective.
func fidelity(p prepared, g, w matrix.Operator, sigma []float64, norm float64,
	even bool) (f Fidelity, err error) {
	x, m, n, positive := p.x, p.x.M, p.x.N, p.positive
	norms, err := x.Norms()
	if err != nil {
		return f, err
	}
	y := randomNormal(m, columnProbes, 1)
	xy, err := x.Times(true, y, columnProbes)
	if err != nil {
		return f, err
	}
	// ((norms·±1)ᵀ·w_j)² has the mean Σᵢ(w_ij·‖x_i‖)².
	rows := slices.Concat(xy, matrix.ScaledBy(randomSigns(n, columnProbes, 2), norms))
	both, err := w.Times(true, rows, 2*columnProbes)
	if err != nil {
		return f, err
	}
	gy, err := g.Times(true, y, columnProbes)
	if err != nil {
		return f, err
	}
	xw, sizes := both[:n*columnProbes], both[n*columnProbes:]
	combined := make([]float64, n)
	for j := range n {
		combined[j] = max(rootMeanSquare(sizes, n, j), sigma[j])
	}
	if even {
		combined = slices.Repeat([]float64{slices.Max(combined)}, n)
	}
	for j := range n {
		for k := range columnProbes {
			off := math.Abs(xw[k*n+j] - gy[k*n+j])
			f.Columns = worse(f.Columns, off, columnLimit*kernels.Epsilon*math.Sqrt(float64(m))*combined[j])
		}
	}

	if f.Signs, err = signsEstimate(w, n, positive, norm); err != nil {
		return f, err
	}
	size := residualBound * kernels.Epsilon * float64(m) * kernels.Norm2(sigma)
	for k := range columnProbes {
		f.Residual = worse(f.Residual, distance(xw[k*n:(k+1)*n], gy[k*n:(k+1)*n]), size)
	}
	if f.Residual <= 1 {
		return f, nil
	}
	f.Residual = 0 // was a bound
	vgy, err := matrix.Mirrored{Operator: w, Positive: positive}.Times(false, gy, columnProbes)
	for k := 0; k < columnProbes && err == nil; k++ {
		f.Residual = worse(f.Residual, distance(xy[k*n:(k+1)*n], vgy[k*n:(k+1)*n]), size*norm)
	}
	return f, err
}

// signsEstimate estimates ‖WᵀJW − J‖_F in units of what rounding errors may do. V serves as W does.
// It is collective.
func signsEstimate(w matrix.Operator, n, positive int, norm float64) (estimate float64, err error) {
	z := randomNormal(n, matrixProbes, 3)
	wz, err := w.Times(false, z, matrixProbes)
	if err != nil {
		return 0, err
	}
	wjwz, err := w.Times(true, matrix.Reflected(wz, matrixProbes, positive), matrixProbes)
	if err != nil {
		return 0, err
	}
	jz := matrix.Reflected(z, matrixProbes, positive)
	for k := range matrixProbes {
		from, to := k*n, (k+1)*n
		estimate = worse(estimate, distance(wjwz[from:to], jz[from:to]), signLimit*kernels.Epsilon*norm*norm)
	}
	return estimate, nil
}

// holdsJ refuses a decomposition whose V, with the null space, is not J-orthogonal. It is collective.
func holdsJ(v *matrix.Matrix, positive int, norm float64) error {
	estimate, err := signsEstimate(v, v.N, positive, norm)
	if err != nil || estimate <= 1 {
		return err
	}
	e, err := signsOff(v, positive)
	if err != nil {
		return err
	}
	defer e.Free()
	size, err := e.Norm()
	if off := worse(0, size, exactLimit*kernels.Epsilon*norm*norm); err == nil && !(off <= 1) {
		err = jacobi.NotHeld("with its null space, ‖V‖² is %.2g, and VᵀDV − J is %.2g times what rounding "+
			"errors explain", norm*norm, off)
	}
	return err
}

// signsOff returns VᵀJV − J. It is collective.
func signsOff(v *matrix.Matrix, positive int) (*matrix.Matrix, error) {
	jv, err := v.Clone()
	if err != nil {
		return nil, err
	}
	defer jv.Free()
	if err := mirror(jv, positive); err != nil {
		return nil, err
	}
	e, err := v.UnitColumns(v.N, 0, v.N)
	if err != nil {
		return nil, err
	}
	if err := e.Scale(signsOf(v.N, positive, -1), nil); err != nil {
		return nil, err
	}
	return e, matrix.AddTransposedProduct(e, v, jv)
}

// signsOf returns the diagonal of sign·J of order n.
func signsOf(n, positive int, sign float64) []float64 {
	x := slices.Repeat([]float64{sign}, n)
	dense.Negate(x[positive:])
	return x
}

// mirror does x ← J·x.
func mirror(x *matrix.Matrix, positive int) error { return x.Scale(signsOf(x.M, positive, 1), nil) }

// worse returns the larger of a and x/bound, or NaN if there is none. 0/0 counts as 0.
func worse(a, x, bound float64) float64 {
	if x == 0 {
		return a
	}
	return max(a, x/bound)
}

// distance returns ‖x − y‖.
func distance(x, y []float64) float64 {
	off := make([]float64, len(x))
	for i := range x {
		off[i] = x[i] - y[i]
	}
	return kernels.Norm2(off)
}

// randomNormal returns random vectors (matrix.RandomNormal). Numbers ±1 would not see an error like x·(1,
// −1)ᵀ in two entries for which they are equal, and all of a few vectors may have such.
func randomNormal(n, count int, seed uint64) []float64 {
	const probes = 0x6e6f726d616c // so that no other numbers are the same
	return matrix.RandomNormal(n, count, seed, probes)
}

// randomSigns returns so many vectors of ±1, always the same ones for a seed.
func randomSigns(n, count int, seed uint64) []float64 {
	const probes = 0x70726f626573 // so that no other numbers are the same
	random := rand.New(rand.NewPCG(seed, probes))
	x := make([]float64, n*count)
	for i := range x {
		x[i] = 1 - 2*float64(random.Uint64()&1)
	}
	return x
}

// rootMeanSquare returns that of element j of the vectors of length n in x.
func rootMeanSquare(x []float64, n, j int) float64 {
	sum := 0.0
	for i := j; i < len(x); i += n {
		sum += x[i] * x[i]
	}
	return math.Sqrt(sum / float64(len(x)/n))
}
