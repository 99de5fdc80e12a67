// The QR factorization of the pivots whose Cholesky factorization broke down, [Nov15, §4.2], by Householder
// reflectors. Columns are scaled by powers of two before, which the factor is rid of after: A·D = Q·(R·D). So
// no norm over- or underflows.
//
// Orders k ≤ 128: R, packed, and a slab of rows lie in the shared memory of one block, which reduces slab
// after slab [R; slab] → R. Many rows are cut into pieces, each with a block of its own, whose factors are
// then reduced the same way.

#include "common.cuh"

constexpr int THREADS = 512, WARPS = THREADS / 32;
constexpr int PIECE = 2048; // rows; the host has the same constant (qr.go)
constexpr int GROUP = 4;    // columns that a warp reflects at a time

__device__ inline i64 pieces_of(const Problem &b) { return b.g.m > PIECE ? (b.g.m + PIECE - 1) / PIECE : 1; }

// packed returns where element (i,j) of the packed upper triangle lies.
__device__ inline int packed(int i, int j) { return i + j * (j + 1) / 2; }

// reduce leaves in r the packed triangular factor of the matrix of `rows` rows and k columns whose elements
// element(i, j) gives. Row j of R begins as a row of the matrix, at step j of the slab that it is in; from
// then on column j of the slabs is reflected into it.
template <int PER_LANE, class Element>
__device__ inline void reduce(double *r, double *slab, int k, i64 rows, Element element)
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
			double v[PER_LANE], sum = 0;
#pragma unroll
			for (int p = 0; p < PER_LANE; p++) {
				v[p] = 32 * p + lane == own ? 0 : slab[j * SLAB + 32 * p + lane];
				sum = __fma_rn(v[p], v[p], sum);
			}
			sum = warp_sum(sum);
			const double alpha = fresh ? slab[j * SLAB + own] : r[packed(j, j)];
			const double norm = sqrt(__fma_rn(alpha, alpha, sum));
			const double beta = sum == 0 ? alpha : alpha > 0 ? -norm : norm;
			const double inverse = sum == 0 ? 0 : 1 / (alpha - beta), tau = sum == 0 ? 0 : (beta - alpha) / beta;
#pragma unroll
			for (int p = 0; p < PER_LANE; p++)
				v[p] *= inverse;
			for (int c = j + 1 + warp * GROUP; c < k && (fresh || sum != 0); c += WARPS * GROUP) {
				double a[GROUP][PER_LANE], dot[GROUP], top[GROUP];
#pragma unroll
				for (int g = 0; g < GROUP; g++) {
					const int column = min(c + g, k - 1);
					dot[g] = 0;
					top[g] = fresh ? slab[column * SLAB + own] : r[packed(j, column)];
#pragma unroll
					for (int p = 0; p < PER_LANE; p++) {
						a[g][p] = 32 * p + lane == own ? 0 : slab[column * SLAB + 32 * p + lane];
						dot[g] = __fma_rn(v[p], a[g][p], dot[g]);
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
						slab[(c + g) * SLAB + 32 * p + lane] = __fma_rn(-dot[g], v[p], a[g][p]);
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
__device__ inline void put_factor(const Problem &b, const double *r, const i64 *exponents)
{
	const int k = (int)b.k;
	for (int i = threadIdx.x; i < k * k; i += THREADS) {
		const int row = i % k, col = i / k;
		b.r[row + col * b.ldr] = row <= col ? ldexp(r[packed(row, col)], (int)exponents[col]) : 0;
	}
}

// qr_exponents finds for each column of the broken problems e with 2ᵉ⁻¹ ≤ max|aᵢⱼ| < 2ᵉ. Grid (order,
// problems), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
qr_exponents(const Problem *problems, i64 *exponents, i64 order)
{
	__shared__ double largest[8];
	const Problem &b = problems[blockIdx.y];
	if (b.tally->broken == 0 || blockIdx.x >= b.k)
		return;
	const double *a = column(b.g, blockIdx.x);
	double most = 0;
	for (i64 i = threadIdx.x; i < b.g.m; i += 256)
		most = fmax(most, fabs(a[i]));
	most = warp_max(most);
	if (threadIdx.x % 32 == 0)
		largest[threadIdx.x / 32] = most;
	__syncthreads();
	for (int w = 0; w < 8; w++)
		most = fmax(most, largest[w]);
	if (threadIdx.x == 0)
		exponents[blockIdx.y * order + blockIdx.x] = exponent(most);
}

// qr_piece: the factor of a piece of rows of the broken problems, into R if it is the only one, else into
// factors, which have pieces·order² elements for each problem. Grid (pieces, problems), block 512 threads.
// Shared bytes: 8·(k(k+1)/2 + 32·PER_LANE·k), k the largest order.
template <int PER_LANE>
__device__ inline void qr_piece(const Problem *problems, const i64 *exponents, double *factors, i64 order)
{
	extern __shared__ double shared[];
	const Problem &b = problems[blockIdx.y];
	const i64 first = (i64)blockIdx.x * PIECE, pieces = pieces_of(b);
	if (b.tally->broken == 0 || blockIdx.x >= pieces)
		return;
	const int k = (int)b.k;
	exponents += blockIdx.y * order;
	reduce<PER_LANE>(shared, shared + packed(0, k), k, min(b.g.m - first, (i64)PIECE),
			 [&](i64 i, int j) { return ldexp(column(b.g, j)[first + i], -(int)exponents[j]); });
	if (pieces == 1) {
		put_factor(b, shared, exponents);
		return;
	}
	double *out = factors + (blockIdx.y * gridDim.x + blockIdx.x) * order * order;
	for (int i = threadIdx.x; i < k * k; i += THREADS) {
		const int row = i % k, col = i / k;
		out[row + col * order] = row <= col ? shared[packed(row, col)] : 0;
	}
}

// qr_join: the factor of the factors of all pieces. Grid (problems), block and shared bytes as qr_piece.
template <int PER_LANE>
__device__ inline void qr_join(const Problem *problems, const i64 *exponents, const double *factors,
			       i64 order, i64 most)
{
	extern __shared__ double shared[];
	const Problem &b = problems[blockIdx.x];
	const i64 pieces = pieces_of(b), k = b.k;
	if (b.tally->broken == 0 || pieces == 1)
		return;
	factors += blockIdx.x * most * order * order;
	reduce<PER_LANE>(shared, shared + packed(0, (int)k), (int)k, pieces * k,
			 [&](i64 i, int j) { return factors[(i / k * order + j) * order + i % k]; });
	put_factor(b, shared, exponents + blockIdx.x * order);
}

extern "C" __global__ void __launch_bounds__(THREADS)
qr_piece_64(const Problem *problems, const i64 *exponents, double *factors, i64 order)
{
	qr_piece<2>(problems, exponents, factors, order);
}

extern "C" __global__ void __launch_bounds__(THREADS)
qr_piece_128(const Problem *problems, const i64 *exponents, double *factors, i64 order)
{
	qr_piece<4>(problems, exponents, factors, order);
}

extern "C" __global__ void __launch_bounds__(THREADS)
qr_join_64(const Problem *problems, const i64 *exponents, const double *factors, i64 order, i64 most)
{
	qr_join<2>(problems, exponents, factors, order, most);
}

extern "C" __global__ void __launch_bounds__(THREADS)
qr_join_128(const Problem *problems, const i64 *exponents, const double *factors, i64 order, i64 most)
{
	qr_join<4>(problems, exponents, factors, order, most);
}

// qr_gather and qr_scatter serve larger orders, which cuSOLVER factors: problem `index`'s pivot goes,
// scaled, to the m×k matrix a with leading dimension m, and the upper triangle of a comes back as R.
// Grid (k), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
qr_gather(const Problem *problems, i64 index, const i64 *exponents, double *a)
{
	const Problem &b = problems[index];
	const double *from = column(b.g, blockIdx.x);
	for (i64 i = threadIdx.x; i < b.g.m; i += 256)
		a[i + blockIdx.x * b.g.m] = ldexp(from[i], -(int)exponents[blockIdx.x]);
}

extern "C" __global__ void __launch_bounds__(256)
qr_scatter(const Problem *problems, i64 index, const i64 *exponents, const double *a)
{
	const Problem &b = problems[index];
	const i64 j = blockIdx.x;
	for (i64 i = threadIdx.x; i < b.k; i += 256)
		b.r[i + j * b.ldr] = i <= j && i < b.g.m ? ldexp(a[i + j * b.g.m], (int)exponents[j]) : 0;
}
