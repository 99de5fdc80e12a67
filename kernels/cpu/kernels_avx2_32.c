#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=x86-64-v3")

#define INSTRUCTIONS avx2
#define BITS 32
#define MULTIPLY_VECTORS 1 // a tile of the product: rows in vectors of 64 bytes, columns
#define MULTIPLY_COLUMNS 6
#define GRAM_I 1 // a tile of the Gram matrix
#define GRAM_J 4
#include "all_simd.h"

#endif
