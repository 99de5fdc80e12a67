// The QR factorization of the pivots whose Cholesky factorization broke down, [Nov15, §4.2], by Householder
// reflectors. Columns are scaled by powers of two before, which the factor is rid of after: A·D = Q·(R·D). So
// no norm over- or underflows.
//
// Orders k ≤ 128: R, packed, and a slab of rows lie in the shared memory of one block, which reduces slab
// after slab [R; slab] → R. Many rows are cut into pieces, each with a block and scales of its own, whose
// factors are then reduced the same way. The element type E is double or float.

#include "common.cuh"

constexpr int THREADS = 512, WARPS = THREADS / 32;
constexpr int PIECE = 2048; // rows; the host has the same constant (qr.go)
constexpr int GROUP = 4;    // columns that a warp reflects at a time
constexpr i64 NOTHING = -(1 << 20); // the exponent of 0

template <class E> __device__ inline i64 pieces_of(const ProblemOf<E> &b)
{
	return b.g.m > PIECE ? (b.g.m + PIECE - 1) / PIECE : 1;
}

// packed returns where element (i,j) of the packed upper triangle lies.
__device__ inline int packed(int i, int j) { return i + j * (j + 1) / 2; }

// reduce leaves in r the packed triangular factor of the matrix of `rows` rows and k columns whose elements
// element(i, j) gives. Row j of R begins as a row of the matrix, at step j of the slab that it is in; from
// then on column j of the slabs is reflected into it.
template <int PER_LANE, class E, class Element>
__device__ inline void reduce(E *r, E *slab, int k, i64 rows, Element element)
{
	constexpr int SLAB = 32 * PER_LANE;
	const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
	for (int i = thread; i < packed(0, k); i += THREADS)
		r[i] = 0;
	for (i64 first = 0; first < rows; first += SLAB) {
		__syncthreads();
		for (int i = thread; i < SLAB * k; i += THREADS)
			slab[i] = first + i % SLAB < rows ? element(first + i % SLAB, i / SLAB) : 0;
		__syncthreads();
		const int before = (int)min((i64)k, first), after = (int)min((i64)k, min(first + SLAB, rows)); // rows of R
		for (int j = 0; j < after; j++) {
			const bool fresh = j >= before; // row j of R is row `own` of the slab
			const int own = fresh ? j - before : SLAB;
			// Every warp forms the reflector I − τ·vvᵀ, v = [1; rest], that takes column j of [R; slab] to β·e_j.
			E v[PER_LANE], sum = 0;
#pragma unroll
			for (int p = 0; p < PER_LANE; p++) {
				v[p] = 32 * p + lane == own ? 0 : slab[j * SLAB + 32 * p + lane];
				sum = fused(v[p], v[p], sum);
			}
			sum = warp_sum(sum);
			const E alpha = fresh ? slab[j * SLAB + own] : r[packed(j, j)];
			const E norm = sqrt(fused(alpha, alpha, sum));
			const E beta = sum == 0 ? alpha : alpha > 0 ? -norm : norm;
			const E inverse = sum == 0 ? 0 : 1 / (alpha - beta), tau = sum == 0 ? 0 : (beta - alpha) / beta;
#pragma unroll
			for (int p = 0; p < PER_LANE; p++)
				v[p] *= inverse;
			for (int c = j + 1 + warp * GROUP; c < k && (fresh || sum != 0); c += WARPS * GROUP) {
				E a[GROUP][PER_LANE], dot[GROUP], top[GROUP];
#pragma unroll
				for (int g = 0; g < GROUP; g++) {
					const int column = min(c + g, k - 1);
					dot[g] = 0;
					top[g] = fresh ? slab[column * SLAB + own] : r[packed(j, column)];
#pragma unroll
					for (int p = 0; p < PER_LANE; p++) {
						a[g][p] = 32 * p + lane == own ? 0 : slab[column * SLAB + 32 * p + lane];
						dot[g] = fused(v[p], a[g][p], dot[g]);
					}
				}
#pragma unroll
				for (int g = 0; g < GROUP; g++)
					dot[g] = tau * (top[g] + warp_sum(dot[g]));
				__syncwarp(); // all lanes have read what one of them overwrites: row j
#pragma unroll
				for (int g = 0; g < GROUP; g++) {
					if (c + g >= k)
						break;
					if (lane == 0)
						r[packed(j, c + g)] = top[g] - dot[g];
#pragma unroll
					for (int p = 0; p < PER_LANE; p++)
						slab[(c + g) * SLAB + 32 * p + lane] = fused(-dot[g], v[p], a[g][p]);
				}
			}
			__syncthreads();
			if (thread == 0)
				r[packed(j, j)] = beta;
		}
	}
	__syncthreads();
}

// put_factor writes the packed factor r to R, without the scaling, zero below the diagonal.
template <class E> __device__ inline void put_factor(const ProblemOf<E> &b, const E *r, const i64 *exponents)
{
	const int k = (int)b.k;
	for (int i = threadIdx.x; i < k * k; i += THREADS) {
		const int row = i % k, col = i / k;
		b.r[row + col * b.ldr] = row <= col ? ldexp(r[packed(row, col)], (int)exponents[col]) : 0;
	}
}

// column_exponent returns e with 2ᵉ⁻¹ ≤ max|aᵢ| < 2ᵉ, or NOTHING if all are 0, to all lanes of a warp.
template <class E> __device__ inline i64 column_exponent(const E *a, i64 rows)
{
	E most = 0;
	for (i64 i = threadIdx.x % 32; i < rows; i += 32)
		most = fmax(most, fabs(a[i]));
	most = warp_max(most);
	return most > 0 ? exponent(most) : NOTHING;
}

// What the blocks of a problem share.
template <class E> struct Pieces {
	i64 *exponents; // order of them for each piece
	E *factors; // order² elements for each
	unsigned *done; // pieces
};

// qr_piece puts the factor of a piece of rows into R if it is the only one. Otherwise the last to have one
// joins them.
template <int PER_LANE, class E>
__device__ inline void qr_piece(const ProblemOf<E> &b, i64 piece, const Pieces<E> &p, i64 order)
{
	extern __shared__ __align__(16) unsigned char memory[];
	E *const shared = (E *)memory;
	__shared__ bool last;
	const int k = (int)b.k, thread = threadIdx.x;
	const i64 first = piece * PIECE, pieces = pieces_of(b), rows = min(b.g.m - first, (i64)PIECE);
	i64 *const exponents = p.exponents + piece * order;
	for (int j = thread / 32; j < k; j += WARPS) {
		const i64 e = column_exponent(column(b.g, j) + first, rows);
		if (thread % 32 == 0)
			exponents[j] = e;
	}
	reduce<PER_LANE>(shared, shared + packed(0, k), k, rows,
			 [&](i64 i, int j) { return ldexp(column(b.g, j)[first + i], -(int)exponents[j]); });
	if (pieces == 1) {
		put_factor(b, shared, exponents);
		return;
	}
	E *const out = p.factors + piece * order * order;
	for (int i = thread; i < k * k; i += THREADS) {
		const int row = i % k, col = i / k;
		out[row + col * order] = row <= col ? shared[packed(row, col)] : 0;
	}
	__threadfence();
	__syncthreads();
	if (thread == 0) {
		last = atomicAdd(p.done, 1u) == pieces - 1;
		if (last)
			*p.done = 0; // for the next launch
	}
	__syncthreads();
	if (!last)
		return;
	__threadfence();
	// The scale of a column is that of its largest element in any piece.
	__shared__ i64 most[128];
	for (int j = thread; j < k; j += THREADS) {
		i64 e = NOTHING;
		for (i64 i = 0; i < pieces; i++)
			e = max(e, p.exponents[i * order + j]);
		most[j] = e;
	}
	reduce<PER_LANE>(shared, shared + packed(0, k), k, pieces * k, [&](i64 i, int j) {
		const i64 from = i / k;
		return ldexp(p.factors[(from * order + j) * order + i % k],
			     (int)(p.exponents[from * order + j] - most[j]));
	});
	put_factor(b, shared, most);
}

// qr_64, qr_128, single_qr_64, single_qr_128: the factors of the broken problems, of `count`, of at most
// `most` pieces. Any grid, block 512 threads. exponents and factors are those of Pieces for each problem;
// done is 0 before and after. Shared bytes: k(k+1)/2 + 32·PER_LANE·k elements, k the largest order.
template <int PER_LANE, class E>
__device__ inline void qr(const ProblemOf<E> *problems, i64 count, i64 *exponents, E *factors, unsigned *done,
			  i64 order, i64 most)
{
	for (i64 item = blockIdx.x; item < count * most; item += gridDim.x) {
		const i64 problem = item / most, piece = item % most;
		const ProblemOf<E> &b = problems[problem];
		if (b.tally->broken == 0 || piece >= pieces_of(b))
			continue;
		const i64 before = problem * most * order;
		qr_piece<PER_LANE, E>(b, piece, {exponents + before, factors + before * order, done + problem}, order);
		__syncthreads();
	}
}

extern "C" __global__ void __launch_bounds__(THREADS)
qr_64(const Problem *problems, i64 count, i64 *exponents, double *factors, unsigned *done, i64 order,
      i64 most)
{
	in_turn();
	qr<2>(problems, count, exponents, factors, done, order, most);
}

extern "C" __global__ void __launch_bounds__(THREADS)
qr_128(const Problem *problems, i64 count, i64 *exponents, double *factors, unsigned *done, i64 order,
       i64 most)
{
	in_turn();
	qr<4>(problems, count, exponents, factors, done, order, most);
}

extern "C" __global__ void __launch_bounds__(THREADS)
single_qr_64(const SingleProblem *problems, i64 count, i64 *exponents, float *factors, unsigned *done,
	     i64 order, i64 most)
{
	in_turn();
	qr<2>(problems, count, exponents, factors, done, order, most);
}

extern "C" __global__ void __launch_bounds__(THREADS)
single_qr_128(const SingleProblem *problems, i64 count, i64 *exponents, float *factors, unsigned *done,
	      i64 order, i64 most)
{
	in_turn();
	qr<4>(problems, count, exponents, factors, done, order, most);
}

template <class E>
__device__ inline void large_exponents(const ProblemOf<E> *problems, i64 index, i64 *exponents)
{
	const ProblemOf<E> &b = problems[index];
	const i64 e = column_exponent(column(b.g, blockIdx.x), b.g.m);
	if (threadIdx.x == 0)
		exponents[blockIdx.x] = e;
}

template <class E>
__device__ inline void gather(const ProblemOf<E> *problems, i64 index, const i64 *exponents, E *a)
{
	const ProblemOf<E> &b = problems[index];
	const E *from = column(b.g, blockIdx.x);
	for (i64 i = threadIdx.x; i < b.g.m; i += 256)
		a[i + blockIdx.x * b.g.m] = ldexp(from[i], -(int)exponents[blockIdx.x]);
}

template <class E>
__device__ inline void scatter(const ProblemOf<E> *problems, i64 index, const i64 *exponents, const E *a)
{
	const ProblemOf<E> &b = problems[index];
	const i64 j = blockIdx.x;
	for (i64 i = threadIdx.x; i < b.k; i += 256)
		b.r[i + j * b.ldr] = i <= j && i < b.g.m ? ldexp(a[i + j * b.g.m], (int)exponents[j]) : 0;
}

// qr_exponents, single_qr_exponents: the scales of the columns of problem `index`. Grid (k), block
// 32 threads.
extern "C" __global__ void __launch_bounds__(32)
qr_exponents(const Problem *problems, i64 index, i64 *exponents)
{
	large_exponents(problems, index, exponents);
}

extern "C" __global__ void __launch_bounds__(32)
single_qr_exponents(const SingleProblem *problems, i64 index, i64 *exponents)
{
	large_exponents(problems, index, exponents);
}

// qr_gather, qr_scatter and single_… serve larger orders, which cuSOLVER factors: problem `index`'s pivot
// goes, scaled, to the m×k matrix a with leading dimension m, and the upper triangle of a comes back as R.
// Grid (k), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
qr_gather(const Problem *problems, i64 index, const i64 *exponents, double *a)
{
	gather(problems, index, exponents, a);
}

extern "C" __global__ void __launch_bounds__(256)
single_qr_gather(const SingleProblem *problems, i64 index, const i64 *exponents, float *a)
{
	gather(problems, index, exponents, a);
}

extern "C" __global__ void __launch_bounds__(256)
qr_scatter(const Problem *problems, i64 index, const i64 *exponents, const double *a)
{
	scatter(problems, index, exponents, a);
}

extern "C" __global__ void __launch_bounds__(256)
single_qr_scatter(const SingleProblem *problems, i64 index, const i64 *exponents, const float *a)
{
	scatter(problems, index, exponents, a);
}
