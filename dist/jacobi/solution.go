package jacobi

import (
	"math"
	"slices"

	"jmpi/dist/exchange"
	"jmpi/dist/matrix"
	"jmpi/kernels"
	"jmpi/node"
	"jmpi/topology"
)

// Solution is the decomposition, its columns still on the devices.
type Solution struct {
	Sigma     []float64 // non-increasing, N of them, the same on every rank
	Converged bool
	Stalled   bool // in the hyperbolic SVD columns of different signs stayed parallel
	Sweeps    []SweepInfo
	Devices   []exchange.DeviceInfo
	Layout    node.Layout
	Strategy  string // pivot strategy of all levels
	Variant   Variant
	Transport exchange.Transport
	Plan      []topology.Step // the macro steps of the first sweep, with what moves after each
	Phases    node.Phases     // summed over this rank's devices
	Seconds   float64         // from the distributed matrix to Sigma
	// of reading the matrix by Problem.Load, with the copies to the devices
	LoadSeconds float64
	// ‖V‖_F of a hyperbolic SVD whose V was accumulated, else 0: relative errors may be ε·VNorm²
	VNorm float64

	run *run
	at  columns
}

// columns tells of the columns of G·V on the devices.
type columns struct {
	norm     []float64 // 2^-scale·Sigma, in the order of the columns
	position []int     // position[j]: where Sigma holds the norm of column j
	scale    int       // the devices hold 2^-scale·G
}

// Broken tells whether the method ended because pivots broke down in the first sweep (Problem.StopBroken).
func (s *Solution) Broken() bool {
	return s.run.config.StopBroken && len(s.Sweeps) == 1 && s.Sweeps[0].tally.Broken > 0
}

// Deficient tells whether some columns of G·V are zero or tiny, so that U has to be completed.
func (s *Solution) Deficient() bool {
	if s.run.precision == kernels.Float32 {
		return slices.Contains(s.at.norm, 0)
	}
	return deficient(s.at.norm)
}

// Free gives the memory on the devices back.
func (s *Solution) Free() {
	if s != nil && s.run != nil {
		s.run.free()
	}
}

// Natural returns the singular values in the order of the columns of G.
func (s *Solution) Natural() []float64 {
	x := make([]float64, len(s.Sigma))
	for j, k := range s.at.position {
		x[j] = s.Sigma[k]
	}
	return x
}

// G is the matrix on the devices, and W what was accumulated: 2^scale·G = A·W.
func (s *Solution) G() matrix.Operator {
	scale := slices.Repeat([]float64{math.Ldexp(1, s.at.scale)}, s.run.n)
	return matrix.ScaledColumns{Operator: onDevices{s.run.spread, false}, Factors: scale}
}

// W is the accumulated transformation.
func (s *Solution) W() matrix.Operator { return onDevices{s.run.spread, true} }

// PhaseSeconds returns the seconds of this rank's devices in each phase, summed over its devices; "compute"
// stands for the three of the pivot problems where these were not told apart (Settings.Profile).
func (s *Solution) PhaseSeconds() map[string]float64 {
	p := s.Phases
	if p.Shorten == 0 {
		return map[string]float64{"compute": p.Compute, "exchange": p.Exchange}
	}
	return map[string]float64{"shorten": p.Shorten, "inner": p.Inner, "postmultiply": p.Postmultiply,
		"exchange": p.Exchange}
}
