package refine

import (
	"math"
	"slices"

	"jmpi/dist/matrix"
	"jmpi/kernels"
)

// powers does E ← E + E²/2 − E⁴/8 + E⁶/16 − 5·E⁸/128, as far as the order goes: 1, 2, 4 or 8. E is
// antisymmetric, so that E² = −EᵀE, and E⁴ = (E²)ᵀE². The 2-norm of E is known.
func (s *state) powers(e *matrix.Matrix, order int, norm float64) error {
	if order < 2 {
		return nil
	}
	second, err := s.power(e, e, norm) // E²/2
	if err != nil {
		return err
	}
	defer second.Free()
	if order < 4 {
		return nil
	}
	fourth, err := s.power(e, second, norm*norm/2) // −E⁴/8
	if err != nil {
		return err
	}
	defer fourth.Free()
	if order < 8 {
		return nil
	}
	// The other terms are E⁴/8·(E²/2 − 5·E⁴/16).
	const f = 2.5
	if err := fourth.Scale(nil, slices.Repeat([]float64{f}, e.N)); err != nil {
		return err
	}
	if err := second.Add(fourth); err != nil {
		return err
	}
	return s.addProduct(e, fourth, second, -1/f, 0)
}

// power returns −xᵀ·x/2, and adds it to e. The 2-norm of x is known.
func (s *state) power(e, x *matrix.Matrix, norm float64) (*matrix.Matrix, error) {
	gram := matrix.Gram
	s.products++
	// ‖x‖_F ≤ √n·‖x‖
	if s.rough(1) > 0 && (!s.Exact ||
		matrix.RoughError*norm*norm*math.Sqrt(float64(x.N)) <= negligible(x.N)) {
		gram = matrix.RoughGram
		s.single++
	}
	square, err := gram(x)
	if err != nil {
		return nil, err
	}
	if err = square.Scale(nil, slices.Repeat([]float64{-0.5}, x.N)); err == nil {
		err = e.Add(square)
	}
	if err != nil {
		square.Free()
		return nil, err
	}
	return square, nil
}

// apply does V ← V + V·F, if V is carried, and G ← G + G·F, whose columns are not unit ones then. F becomes
// D·F·D⁻¹. If V is not exact G is given back instead.
func (s *state) apply(f *matrix.Matrix) error {
	if !s.Exact {
		s.u.Free()
		s.u = nil
		return s.addProduct(s.v, s.v, f, 1, math.Inf(1))
	}
	rough := s.rough(s.small())
	if s.v != nil {
		if err := s.addProduct(s.v, s.v, f, 1, rough); err != nil {
			return err
		}
	}
	if err := f.Scale(s.ratios()); err != nil {
		return err
	}
	return s.addProduct(s.u, s.u, f, 1, rough)
}

// addProduct does w ← w + α·x·u, in float32 where blocks of u are that small.
func (s *state) addProduct(w, x, u *matrix.Matrix, alpha, rough float64) error {
	share, err := matrix.AddProduct(w, x, u, alpha, rough)
	s.products, s.single = s.products+2, s.single+2*share
	return err
}

// negligible is the Frobenius norm of errors that change U and V, of n columns, less than their rounding
// errors do.
func negligible(n int) float64 { return tiny * float64(n) * kernels.Epsilon }

// small is the norm of blocks of a square matrix that multiplies V or G, of which the errors in float32 are
// negligible together.
func (s *state) small() float64 {
	return negligible(s.x.N) / (matrix.RoughError * math.Sqrt(float64(s.x.RoughBlocks())))
}

// rough returns a bound of what may be multiplied in float32, or 0 where columns are graded: there is none.
// Then elements may be too small for float32, and errors of small ones are not small.
func (s *state) rough(most float64) float64 {
	if matrix.Ratio(s.norms) >= graded {
		return 0
	}
	return most
}
