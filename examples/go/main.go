// A Go program that has a matrix and wants its SVD, computed on all of its ranks:
//
//	go mod tidy && go build -o example . && mpirun -np 2 ./example
//
// Rank 0 makes a matrix whose columns go from 1 down to 1e-12, and checks what comes back. Where MPI lies
// elsewhere than on Debian, build it with scripts/mpiflags.sh go build -o example .
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"jmpi/dist/svd"
)

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err) // ends the other ranks too, whatever they do
	}
}

func run() error {
	world, err := svd.Start(svd.Options{})
	if err != nil {
		return err
	}
	const m, n = 400, 300
	var a *mat.Dense // nil on the other ranks
	if world.Rank() == 0 {
		random := rand.New(rand.NewPCG(1, 2))
		a = mat.NewDense(m, n, nil)
		a.Apply(func(_, j int, _ float64) float64 {
			return random.NormFloat64() * math.Pow(10, -12*float64(j)/(n-1))
		}, a)
	}
	r, err := world.SVD(context.Background(), svd.Columns(a), svd.Settings{})
	if err != nil {
		return err
	}
	u, v, err := r.Gather(0)
	if err != nil {
		return err
	}
	r.Free()
	if world.Rank() == 0 {
		var us, rest mat.Dense
		us.Mul(u, mat.NewDiagDense(len(r.S), r.S))
		rest.Mul(&us, v.T())
		rest.Sub(a, &rest)
		fmt.Printf("%d ranks, %d sweeps, singular values from %.3g to %.3g\n", world.Size(),
			len(r.Details().Sweeps), r.S[0], r.S[n-1])
		fmt.Printf("residual %.2g\n", mat.Norm(&rest, 2)/mat.Norm(a, 2))
	}
	return world.Close()
}
