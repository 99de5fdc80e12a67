// What a warp of the block that has R does in a sweep.
#pragma once

#include "group.cuh"
#include "sweep.cuh"

// What a warp counts, in the owners of the pairs.
struct Counts {
	int rotations, proper, open, idle, degenerate;

	template <class R> __device__ void add(const R &r)
	{
		rotations += r.rotate;
		proper += r.proper;
		open += r.open;
		idle += r.idle;
		degenerate += r.degenerate;
	}
	// add_to adds them to those of the block. Integers: the order does not matter.
	__device__ void add_to(Counts &all) const
	{
		if (!rotations)
			return;
		atomicAdd(&all.rotations, rotations);
		atomicAdd(&all.proper, proper);
		atomicAdd(&all.open, open);
		atomicAdd(&all.idle, idle);
		atomicAdd(&all.degenerate, degenerate);
	}
};

// send_none sends the news of a round of several p-steps without rotations.
template <int PAIRS> __device__ inline void send_none(Letter *letters, int steps)
{
	for (int t = threadIdx.x % 32 / 8; t < steps; t += 4)
		send(letters + t * PAIRS + threadIdx.x % 8, 1, 0);
}

// The rotations of a p-step of a warp, in shared memory.
struct Step {
	Mix mixes[2][8]; // of even and of odd p-steps of a round
	Turn<double> turns[8]; // of a round of one
};

// A warp's place in the sweep on R.
template <int SIZE> struct Sweeper {
	static constexpr int PAIRS = SIZE / 2;

	double tol;
	int positive;
	bool mixed; // there are columns with sign −1
	Step *shared;
	Letter *letters; // those of the warp in the round
	Counts counts;

	// signs returns the signs of a pair, in p-step t.
	__device__ Signs signs(const Group<SIZE> &c, int s, int t) const
	{
		return mixed ? signs_of(number(c.lefts, s), number(c.rights, s ^ t), positive) : Signs{1, 1};
	}

	// rotation forms the rotation of the pair that the lane owns, if it owns one.
	__device__ Rotation rotation(const Products &h, bool ordinary, Signs signs) const
	{
		const int lane = threadIdx.x % 32, odd = lane / 4 & 1;
		const double hpp = odd ? h.ll[1] : h.ll[0], hqq = odd ? h.rr[1] : h.rr[0], hpq = odd ? h.lr[1] : h.lr[0];
		const bool pair = lane == owner(lane / 4) && hpp > 0 && hqq > 0; // or a column is zero, or there is none
		const double pp = pair ? hpp : 1, qq = pair ? hqq : 1, pq = pair ? hpq : 0;
		if (ordinary)
			return rotation_by<Ordinary>(pp, qq, pq, tol, signs);
		return any_rotation(pp, qq, pq, tol, signs);
	}

	// begin_step forms the rotation of the pair that the lane owns, and counts it: cos φ, negative if the
	// columns are swapped, and sin φ. It returns whether products are not known well enough afterwards.
	__device__ bool begin_step(const Products &h, bool quick, Signs signs, double &cos, double &sin)
	{
		const int lane = threadIdx.x % 32, odd = lane / 4 & 1;
		const bool own = lane == owner(lane / 4); // else nothing is rotated
		const double hpp = !own ? 0 : odd ? h.ll[1] : h.ll[0], hqq = odd ? h.rr[1] : h.rr[0];
		const double hpq = !own ? 0 : odd ? h.lr[1] : h.lr[0];
		if (!quick) {
			const Rotation r = rotation(h, false, signs);
			counts.add(r);
			cos = r.swap ? -r.cos : r.cos, sin = r.sin;
			return r.cancels(fmin(hpp, hqq));
		}
		if (mixed)
			return take(quick_rotation<true>(hpp, hqq, hpq, tol, signs), cos, sin);
		return take(quick_rotation<false>(hpp, hqq, hpq, tol, signs), cos, sin);
	}

	__device__ bool take(const QuickRotation &r, double &cos, double &sin)
	{
		counts.add(r);
		cos = r.cos, sin = r.sin;
		return r.cancels;
	}

	// alone does a round of one p-step.
	__device__ void alone(const Group<SIZE> &c)
	{
		Products h;
		h.take_pairs(c);
		const int lane = threadIdx.x % 32, g = lane / 4;
		const Signs signs = this->signs(c, g, 0);
		const Rotation r = rotation(h, h.ordinary(LEAST, MOST), signs);
		if (lane == owner(g)) {
			const double tau = r.swap ? -r.tau : r.tau;
			shared->turns[g] = turn_of(r.swap ? -r.sin : r.sin, tau, signs.kind);
			send(letters + g, r.sin, tau);
		}
		counts.add(r);
		__syncwarp();
		if (!__any_sync(0xffffffff, r.rotate))
			return;
		const bool swap = __shfl_sync(0xffffffff, r.swap, owner(lane % 8));
		c.turn(shared->turns, __ballot_sync(0xffffffff, swap) & 0xff);
	}

	// run does p-steps from t on, up to one after which products are not known well enough any more. It
	// returns the next p-step.
	__device__ int run(const Group<SIZE> &c, Products &h, ProductOf<double> &product, int t, int steps,
			   bool quick)
	{
		const int lane = threadIdx.x % 32, g = lane / 4;
		for (;;) {
			const Signs signs = this->signs(c, g, t);
			double cos, sin;
			const bool cancels = begin_step(h, quick, signs, cos, sin);
			Mix *const mixes = shared->mixes[t & 1];
			if (lane == owner(g))
				mixes[g] = mix_of(cos, sin, -signs.kind * sin);
			__syncwarp();
			const Mix own = mixes[g];
			const Mix others[2] = {mixes[2 * (lane % 4)], mixes[2 * (lane % 4) + 1]};
			h.turn(own, others);
			const bool end = __any_sync(0xffffffff, cancels) || t + 1 == steps;
			if (lane == owner(g))
				send(letters + t * PAIRS + g, cos, sin);
			t++;
			if (!end)
				h.go_to(t);
			product.turn(own);
			if (end)
				return t;
			product.go_to(t);
		}
	}

	// round does the p-steps of a round.
	__device__ void round(const Group<SIZE> &c, int steps)
	{
		for (int t = 0; t < steps;) {
			Products h;
			h.take(c);
			const bool quick = h.ordinary(QUICK_LEAST / QUICK_SCALE, QUICK_MOST / QUICK_SCALE);
			if (quick)
				h.scale(QUICK_SCALE);
			if (t == 0 && quick && h.quiet(tol * tol))
				return send_none<PAIRS>(letters, steps);
			ProductOf<double> product;
			product.reset();
			h.go_to(t);
			product.go_to(t);
			t = run(c, h, product, t, steps, quick);
			product.go_to(0);
			c.multiply(product);
		}
	}
};
