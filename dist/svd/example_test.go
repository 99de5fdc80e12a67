package svd_test

import (
	"context"
	"fmt"
	"log"

	"gonum.org/v1/gonum/mat"

	"jmpi/dist/svd"
)

// The singular values of a matrix with columns of very different size have all of their digits. With one rank
// Gather(0) gives U and V to the program as they are.
func Example() {
	world, err := svd.Start(svd.Options{Backend: svd.CPU})
	if err != nil {
		log.Fatal(err)
	}
	var a *mat.Dense // the other ranks, if there are any, leave it nil
	if world.Rank() == 0 {
		a = mat.NewDense(4, 3, []float64{
			1, 1e-8, 0,
			1, -1e-8, 0,
			1, 1e-8, 1e-16,
			1, -1e-8, -1e-16,
		})
	}
	r, err := world.SVD(context.Background(), svd.Columns(a), svd.Settings{})
	if err != nil {
		log.Fatal(err)
	}
	u, v, err := r.Gather(0)
	if err != nil {
		log.Fatal(err)
	}
	r.Free()
	if world.Rank() == 0 {
		var us, rest mat.Dense
		us.Mul(u, mat.NewDiagDense(len(r.S), r.S))
		rest.Mul(&us, v.T())
		rest.Sub(a, &rest)
		fmt.Printf("S %.10g\n", r.S)
		fmt.Println("A = U·diag(S)·Vᵀ:", mat.Norm(&rest, 2) < 1e-15*mat.Norm(a, 2))
	}
	if err := world.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// S [2 2e-08 1e-16]
	// A = U·diag(S)·Vᵀ: true
}

// A matrix of which every rank computes its part, and its hyperbolic SVD: the eigenvalues of A·D·Aᵀ.
func ExampleWorld_HSVD() {
	world, err := svd.Start(svd.Options{Backend: svd.CPU})
	if err != nil {
		log.Fatal(err)
	}
	entry := func(i, j int) float64 { return 1 / float64(1+i+2*j) }
	fill := func(p svd.Part) error {
		for j := range p.N {
			for i := range p.M {
				p.Data[i+j*p.Ld] = entry(p.Row+i, p.Column+j)
			}
		}
		return nil
	}
	signs := []float64{1, -1, 1}
	r, err := world.HSVD(context.Background(), svd.Func(4, 3, fill), signs, svd.Settings{Vectors: svd.None})
	if err != nil {
		log.Fatal(err)
	}
	for j, s := range r.S {
		eigenvalue := s * s
		if j >= r.Positive {
			eigenvalue = -eigenvalue
		}
		fmt.Printf("%.6f\n", eigenvalue)
	}
	r.Free()
	if err := world.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1.290770
	// 0.000122
	// -0.004858
}
