// What is known of the products of the columns of P with each other, and of those of Q (kernels.Batch.Grams).
#pragma once

#include "common.cuh"

constexpr int KNOWN_WIDTH = 64; // of P and of Q, at most

// A column of R·T whose length is a smaller part of what it is a combination of has products that are mostly
// rounding errors.
constexpr double KNOWN_LENGTH = 0x1p-3;

// known tells whether Gram takes these products from there, and forms those of P with Q alone.
template <class E> __device__ inline bool known(const ProblemOf<E> &b)
{
	const i64 np = b.g.np, nq = b.k - np;
	return b.gram_p && !b.afresh && b.k > KNOWN_WIDTH && np <= KNOWN_WIDTH && nq <= KNOWN_WIDTH &&
	       *b.gram_p != 0 && *b.gram_q != 0;
}

// place_across returns the number of the column that is in a place, where those of P have the places from 0
// on, and those of Q from 64 on; k for none.
template <class E> __device__ inline i64 place_across(const ProblemOf<E> &b, int place)
{
	const i64 j = place < KNOWN_WIDTH ? place : b.g.np + place - KNOWN_WIDTH;
	return j < (place < KNOWN_WIDTH ? b.g.np : b.k) ? j : b.k;
}

// noted returns where element (i, j) of these products is noted; 0: nowhere.
template <class E> __device__ inline E *noted(const ProblemOf<E> &b, i64 i, i64 j)
{
	const i64 np = b.g.np;
	if (!b.gram_p || i >= b.k || j >= b.k || (i < np) != (j < np))
		return 0;
	return i < np ? b.gram_p + i + j * b.ld_gram_p : b.gram_q + i - np + (j - np) * b.ld_gram_q;
}
