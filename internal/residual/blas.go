package residual

// #cgo LDFLAGS: -lopenblas
// void openblas_set_num_threads(int);
import "C"

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/netlib/blas/netlib"

	"jmpi/internal/parallel"
)

// tile is the order of the tiles of a product that one core computes at a time.
const tile = 512

// useOwnThreads makes OpenBLAS compute in the thread that calls it: the tiles of a product are
// spread over the cores here.
func useOwnThreads() { C.openblas_set_num_threads(1) }

// tiles calls f on every tile [i0,i1)×[j0,j1) of a rows×cols matrix, on all cores.
func tiles(rows, cols int, f func(i0, i1, j0, j1 int)) {
	down := (rows + tile - 1) / tile
	parallel.All(down*((cols+tile-1)/tile), 1, func(t int) {
		i0, j0 := t%down*tile, t/down*tile
		f(i0, min(i0+tile, rows), j0, min(j0+tile, cols))
	})
}

// add computes C += α·op(A)·op(B), where op is the matrix or its transpose, on all cores. To the row-major
// interface the arrays hold the transposes: Cᵀ += α·op(B)ᵀ·op(A)ᵀ.
func (c panel) add(alpha float64, ta blas.Transpose, a panel, tb blas.Transpose, b panel) {
	k := a.cols          // the length of the inner products
	below, right := 1, 1 // how far apart the rows of op(A) and the columns of op(B) begin
	if ta == blas.Trans {
		k, below = a.rows, a.rows
	}
	if tb == blas.NoTrans {
		right = b.rows
	}
	tiles(c.rows, c.cols, func(i0, i1, j0, j1 int) {
		netlib.Implementation{}.Dgemm(tb, ta, j1-j0, i1-i0, k, alpha, b.data[j0*right:], b.rows,
			a.data[i0*below:], a.rows, 1, c.data[i0+j0*c.rows:], c.rows)
	})
}

// innerProducts computes C = AᵀB for A k×m, B k×n, C m×n, all column-major; see add.
func innerProducts(m, n, k int, a []float64, lda int, b []float64, ldb int, c []float64, ldc int) {
	netlib.Implementation{}.Dgemm(blas.NoTrans, blas.Trans, n, m, k, 1, b, ldb, a, lda, 0, c, ldc)
}
