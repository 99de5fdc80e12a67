// What a warp of the block that has R does in a sweep.
#pragma once

#include "group.cuh"
#include "sweep.cuh"

// What a warp counts, in the owners of the pairs.
struct Counts {
	int rotations, proper, open, idle, degenerate;

	__device__ void add(const Rotation &r)
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

// send_none sends the news of a round without rotations.
template <int PAIRS> __device__ inline void send_none(Letter *letters, int steps)
{
	for (int t = threadIdx.x % 32 / 8; t < steps; t += 4)
		send(letters + t * PAIRS + threadIdx.x % 8, 0, 0);
}

// The rotations of a p-step of a warp, in shared memory.
struct Step {
	Angle angles[8];
	Turn<double> turns[8];
};

// A warp's place in the sweep on R.
template <int SIZE> struct Sweeper {
	static constexpr int PAIRS = SIZE / 2;

	double tol;
	int positive;
	Step *shared;
	Letter *letters; // those of the warp in the round
	Counts counts;

	// rotation_of forms the rotation of the pair that the lane owns, in p-step t.
	template <class Arithmetic>
	__device__ Rotation rotation_of(const Group<SIZE> &c, const Products &h, int t, Signs &signs) const
	{
		const int lane = threadIdx.x % 32, g = lane / 4, odd = g & 1;
		const double hpp = odd ? h.ll[1] : h.ll[0], hqq = odd ? h.rr[1] : h.rr[0], hpq = odd ? h.lr[1] : h.lr[0];
		signs = signs_of(number(c.lefts, g), number(c.rights, g ^ t), positive);
		const bool pair = lane == owner(g) && hpp > 0 && hqq > 0; // or a column is zero, or there is none
		return rotation_by<Arithmetic>(pair ? hpp : 1, pair ? hqq : 1, pair ? hpq : 0, tol, signs);
	}

	// tell stores the turn of a pair and sends it.
	__device__ void tell(const Rotation &r, Signs signs, int t) const
	{
		const int lane = threadIdx.x % 32, g = lane / 4;
		const double tau = r.swap ? -r.tau : r.tau;
		if (lane == owner(g)) {
			shared->turns[g] = turn_of(r.swap ? -r.sin : r.sin, tau, signs.kind);
			send(letters + t * PAIRS + g, r.sin, tau);
		}
	}

	// alone does a round of one p-step.
	__device__ void alone(const Group<SIZE> &c)
	{
		Products h;
		h.take_pairs(c);
		Signs signs;
		const Rotation r = h.ordinary(LEAST, MOST) ? rotation_of<Ordinary>(c, h, 0, signs)
							   : rotation_of<General>(c, h, 0, signs);
		tell(r, signs, 0);
		counts.add(r);
		__syncwarp();
		if (!__any_sync(0xffffffff, r.rotate))
			return;
		const bool swap = __shfl_sync(0xffffffff, r.swap, owner(threadIdx.x % 8));
		c.turn(shared->turns, __ballot_sync(0xffffffff, swap) & 0xff);
	}

	// run does p-steps from t on, up to one after which products are not known well enough any more. It
	// returns the next p-step.
	template <class Arithmetic>
	__device__ int run(const Group<SIZE> &c, Products &h, Product &product, int t, int steps)
	{
		const int lane = threadIdx.x % 32, g = lane / 4;
		for (;;) {
			Signs signs;
			const Rotation r = rotation_of<Arithmetic>(c, h, t, signs);
			if (lane == owner(g))
				shared->angles[g] = {copysign(r.cos, signs.kind), r.tan};
			const double least = fmin(g & 1 ? h.ll[1] : h.ll[0], g & 1 ? h.rr[1] : h.rr[0]);
			__syncwarp();
			h.turn(shared->angles);
			const unsigned swapped = __ballot_sync(0xffffffff, r.swap);
			h.swap(swapped);
			if (r.rotate)
				h.set_pair(r.pp, r.qq);
			const bool again = __any_sync(0xffffffff, r.rotate && r.cancels(least));
			tell(r, signs, t);
			counts.add(r);
			__syncwarp();
			t++;
			const bool end = again || t == steps;
			if (!end)
				h.go_to(t);
			product.turn(shared->turns[g], swapped >> owner(g) & 1);
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
			const bool ordinary = h.ordinary(LEAST * 0x1p16, MOST * 0x1p-16);
			if (t == 0 && ordinary && h.quiet(tol))
				return send_none<PAIRS>(letters, steps);
			Product product;
			product.reset();
			h.go_to(t);
			product.go_to(t);
			t = ordinary ? run<Ordinary>(c, h, product, t, steps) : run<General>(c, h, product, t, steps);
			product.go_to(0);
			c.multiply(product);
		}
	}
};
