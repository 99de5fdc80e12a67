// The compute kernels of the CPU back end. All matrices are column-major, sizes and leading dimensions in
// elements. Each kernel exists once for every instruction set (see simd.h), with identical results, and for
// float64 and float32. Elements are of the type of the set of kernels.
#ifndef JMPI_KERNELS_H
#define JMPI_KERNELS_H

#include <stdint.h>

// Numbers in a vector of our kernels: bytes of one over those of an element.
#define JMPI_VECTOR_BYTES 64
// The largest order of a factor that the kernels take.
#define JMPI_MAX_ORDER 256
// The rows that the multiplication packs at a time.
#define JMPI_MULTIPLY_ROWS 192

// Rotations that are applied to a panel of T at once, in the Jacobi kernel.
#define JMPI_TURNS 512

// A pivot block-pair [P Q], both of m rows; its order is k = np + nq ≤ JMPI_MAX_ORDER.
struct jmpi_pivot {
	int64_t m;
	void *p;
	int64_t np, ldp;
	void *q;
	int64_t nq, ldq;
};

// A parallel strategy: `steps` p-steps of `half` pairs p < q each. Pairs with q ≥ k are skipped. With
// left ≥ 0 the first `left` columns have the indices from 0 on, and the others those from `half` on.
struct jmpi_schedule {
	const int32_t *pairs;
	int64_t steps, half, left;
};

// What a Jacobi kernel does besides: it stops after max_sweeps sweeps or one without a rotation.
struct jmpi_jacobi {
	int64_t k;        // order of the factor
	int64_t positive; // columns with sign +1; k for float32
	int64_t max_sweeps;
	double tol;    // c(u) of the type
	double null;   // float64: columns that cancel to below it are set to zero (kernels.Backend); −1 for none
	double cosine; // float32: rotations of columns with a larger cosine are proper
	double *norms; // float32: of the columns, before and after
};

// What a Jacobi kernel has done. changed is 0 if t = I, else 1.
struct jmpi_tally {
	int64_t rotations, proper, open, idle, changed, degenerate;
};

// What a Gram matrix tells of the cosines of angles between two columns.
struct jmpi_screening {
	double cosine;  // the largest, 1 at most
	int64_t within; // whether none exceeds the limit, nor is undefined
};

// Column j of a matrix of cosines between n columns, and what is asked of it: see kernels.AngleOptions. Rows
// are counted in pieces of `side`, a multiple of the numbers in a vector.
enum { jmpi_limits = 4 }; // kernels.MaxLimits
struct jmpi_column {
	int64_t n, j, side, write, count;
	double tolerance, limits[jmpi_limits]; // of which `count` are given
};

// What is found in it: see kernels.Angles.
struct jmpi_angles {
	double cosine;
	struct {
		double largest, sum;
		int32_t low, high;
	} within[jmpi_limits];
};

// The kernels for one instruction set and one type of elements.
struct jmpi_kernels {
	const char *name;

	// gram forms rows i < i1 of columns j0 ≤ j < j1 of the upper triangle of h ← [P Q]ᵀ[P Q], and what mirrors
	// them in the lower triangle.
	void (*gram)(struct jmpi_pivot g, void *h, int64_t ldh, int64_t i1, int64_t j0, int64_t j1);

	// screen looks at the cosines |h_ij|·scales[i]·scales[j], i < j, of k columns with the Gram matrix h. scales
	// has the reciprocals of their norms, and 0 for a column that is to be passed over. With left ≥ 0 only those
	// with i < left ≤ j are compared with the limit.
	struct jmpi_screening (*screen)(int64_t k, const void *h, int64_t ldh, const void *scales, double limit,
					int64_t left);

	// jacobi runs the pointwise one-sided Jacobi method ([Nov15, §4.3]) on the k×k factor r. t becomes the
	// product of the rotations, made (J-)orthogonal, and r becomes r·t. For float32 see kernels.Pivots. work has
	// jacobi_work(k) elements, aligned to a vector.
	struct jmpi_tally (*jacobi)(struct jmpi_jacobi o, void *r, int64_t ldr, void *t, int64_t ldt,
				    struct jmpi_schedule s, void *work);
	int64_t (*jacobi_work)(int64_t k);

	// multiply does [P Q] ← [P Q]·t, with t_ij·rows[i]·columns[j] for t_ij if rows is not null. work has
	// multiply_work(k) elements, aligned to a vector.
	void (*multiply)(struct jmpi_pivot g, const void *t, int64_t ldt, const double *rows, const double *columns,
			 void *work);
	int64_t (*multiply_work)(int64_t k);

	// combine does high + low ← high + low + p·x, in twice the working precision, for an m×n panel p.
	void (*combine)(int64_t m, int64_t n, const void *p, int64_t ldp, const void *x, void *high, void *low);

	// angles measures a column of cosines, and may write angles. It sets seen[i/side] to 1 where row i has a
	// cosine over the tolerance.
	struct jmpi_angles (*angles)(struct jmpi_column o, void *c, const void *norms, unsigned char *seen);
};

// jmpi_select returns the fastest kernels for elements of so many bits, 64 or 32, that this processor can
// run, those of the named instruction set ("avx512", "avx2", "generic") at best.
const struct jmpi_kernels *jmpi_select(const char *best, int bits);

#endif
