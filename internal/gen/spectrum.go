package gen

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// The four spectra of [Nov15, §6]. There n = 1024·k; here k = max(1, n/1024) for every n.

// copies is the multiplicity of the eigenvalue 0.5 of spectrum 1.
const copies = 16

func spectrum1(o Options) (*Matrix, error) {
	lambda := clustered(o, "spectrum1")
	if o.Positive != nil {
		chooseSigns(o, "spectrum1 signs", lambda, copies)
	}
	return fromSpectrum(o, "spectrum1", lambda)
}

func spectrum2(o Options) (*Matrix, error) {
	lambda := clustered(o, "spectrum2")
	for i := range lambda {
		lambda[i]++
	}
	return fromSpectrum(o, "spectrum2", lambda)
}

func spectrum3(o Options) (*Matrix, error) {
	lambda := spread(o, "spectrum3")
	if o.Positive != nil {
		chooseSigns(o, "spectrum3 signs", lambda, 0)
	} else {
		r := stream(o.Seed, "spectrum3 signs", 0)
		for i := range lambda {
			if r.IntN(2) == 0 {
				lambda[i] = -lambda[i]
			}
		}
	}
	return fromSpectrum(o, "spectrum3", lambda)
}

func spectrum4(o Options) (*Matrix, error) {
	return fromSpectrum(o, "spectrum4", spread(o, "spectrum4"))
}

// clustered returns 16 times 0.5 and then samples of N(0, 0.1²), none of them 0 and all above
// −1, so that 1 added to them gives the positive spectrum 2.
func clustered(o Options, purpose string) []float64 {
	r := stream(o.Seed, purpose, 0)
	lambda := make([]float64, o.Rows)
	for i := range lambda {
		lambda[i] = 0.5
		if i >= copies {
			lambda[i] = sample(r)
		}
	}
	return lambda
}

func sample(r *rand.Rand) float64 {
	for {
		if x := 0.1 * r.NormFloat64(); x != 0 && x > -1 {
			return x
		}
	}
}

// spread returns samples of the uniform distribution over (1e-7, 10·k).
func spread(o Options, purpose string) []float64 {
	const low = 1e-7
	high := 10 * max(1, float64(o.Rows)/1024)
	r := stream(o.Seed, purpose, 0)
	lambda := make([]float64, o.Rows)
	for i := range lambda {
		lambda[i] = low + (high-low)*r.Float64()
	}
	return lambda
}

// chooseSigns makes exactly *o.Positive of the λ positive and the others negative: the first
// ones among the leading entries, then others by chance.
func chooseSigns(o Options, purpose string, lambda []float64, leading int) {
	leading = min(leading, len(lambda))
	for i := range lambda {
		lambda[i] = -math.Abs(lambda[i])
	}
	chosen := stream(o.Seed, purpose, 0).Perm(len(lambda) - leading)
	for k := range int(*o.Positive) {
		i := k
		if k >= leading {
			i = leading + chosen[k-leading]
		}
		lambda[i] = -lambda[i]
	}
}

// fromSpectrum returns the factor G, rounded to double, of a random symmetric matrix
// A = G·J·Gᵀ with the eigenvalues lambda.
func fromSpectrum(o Options, purpose string, lambda []float64) (*Matrix, error) {
	n := len(lambda)
	a := similar(lambda, o.Seed, purpose+" U")
	signs, err := factorize(a, n)
	if err != nil {
		return nil, fmt.Errorf("gen: %s of order %d, seed %d: %w", purpose, n, o.Seed, err)
	}
	slices.SortFunc(lambda, func(x, y float64) int { return cmp.Compare(y, x) })
	g := &Matrix{Rows: o.Rows, Cols: o.Cols, Lambda: lambda, Signature: make([]float64, n)}

	// The inner permutation of [Nov15, §6]: columns with +1 first, the order otherwise kept.
	inner := make([]int, 0, n)
	for _, sign := range []float64{1, -1} {
		for j, s := range signs {
			if s == sign {
				g.Signature[len(inner)] = sign
				inner = append(inner, j)
			}
		}
	}
	for i, s := range g.Signature {
		if s*lambda[i] <= 0 {
			return nil, fmt.Errorf("gen: %s of order %d, seed %d: the inertia of the factor is not that of Λ", purpose,
				n, o.Seed)
		}
	}
	g.column = func(j int, dst []float64) {
		for i, x := range a[inner[j]*n : (inner[j]+1)*n] {
			dst[i] = x.Float64()
		}
	}
	if n == 0 || lambda[n-1] > 0 {
		sigma := make([]float64, n)
		for i, x := range lambda {
			sigma[i] = math.Sqrt(x)
		}
		if known(sigma) {
			g.Sigma = sigma
		}
	}
	return g, nil
}
