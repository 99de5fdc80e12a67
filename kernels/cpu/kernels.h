// The compute kernels of the CPU back end. All matrices are column-major, sizes and leading dimensions in
// elements. Each kernel exists once for every instruction set (see simd.h), with identical results.
#ifndef JMPI_KERNELS_H
#define JMPI_KERNELS_H

#include <stdint.h>

#define JMPI_LANES 8
// The largest order of a factor that the kernels take.
#define JMPI_MAX_ORDER 256
// The rows that the multiplication packs at a time.
#define JMPI_MULTIPLY_ROWS 192

// Rows of a panel of T, and rotations that are applied to it at once, in the Jacobi kernel.
#define JMPI_T_ROWS 32
#define JMPI_TURNS 512

// jmpi_jacobi_work returns the number of elements of scratch memory for a factor of order k: R, T and 32
// bytes a rotation; afterwards T, the departure from orthogonality and what multiply needs. The latter is
// enough for a second matrix like the departure, too.
static inline int64_t jmpi_jacobi_work(int64_t k)
{
	int64_t rotations = k * (k + JMPI_LANES) + k * (k + JMPI_T_ROWS) + 4 * JMPI_TURNS;
	int64_t newton = 2 * k * (k + JMPI_LANES) + k * (k + JMPI_LANES + JMPI_MULTIPLY_ROWS);
	return rotations > newton ? rotations : newton;
}

// A pivot block-pair [P Q], both of m rows; its order is k = np + nq ≤ JMPI_MAX_ORDER.
struct jmpi_pivot {
	int64_t m;
	double *p;
	int64_t np, ldp;
	double *q;
	int64_t nq, ldq;
};

// A parallel strategy: `steps` p-steps of `half` pairs p < q each. Pairs with q ≥ k are skipped.
struct jmpi_schedule {
	const int32_t *pairs;
	int64_t steps, half;
};

// What a Jacobi kernel has done.
struct jmpi_tally {
	int64_t rotations, proper, open, idle, changed, degenerate;
};

// The kernels for one instruction set.
struct jmpi_kernels {
	const char *name;

	// gram forms columns j0 ≤ j < j1 of the upper triangle of h ← [P Q]ᵀ[P Q], and the rows of the
	// lower triangle that mirror them.
	void (*gram)(struct jmpi_pivot g, double *h, int64_t ldh, int64_t j0, int64_t j1);

	// jacobi runs the pointwise one-sided Jacobi method ([Nov15, §4.3]) on the k×k factor r, whose `positive`
	// leading columns have sign +1 (k: the SVD). t becomes the product of the rotations, made (J-)orthogonal,
	// and r becomes r·t. Columns that cancel to below null are set to zero (kernels.Backend); null is c(u), or
	// −1 for none. It stops after max_sweeps sweeps or one without a rotation. tol is c(u). work has
	// jmpi_jacobi_work(k) elements, 64-byte aligned. changed is 0 if t = I, else 1.
	struct jmpi_tally (*jacobi)(int64_t k, int64_t positive, double *r, int64_t ldr, double *t, int64_t ldt,
				    struct jmpi_schedule s, int64_t max_sweeps, double tol, double null, double *work);

	// multiply does [P Q] ← [P Q]·t. work has k·(k + 8 + JMPI_MULTIPLY_ROWS) elements, 64-byte aligned.
	void (*multiply)(struct jmpi_pivot g, const double *t, int64_t ldt, double *work);
};

// jmpi_select returns the fastest kernels that this processor can run, those of the
// named instruction set ("avx512", "avx2", "generic") at best.
const struct jmpi_kernels *jmpi_select(const char *best);

#endif
