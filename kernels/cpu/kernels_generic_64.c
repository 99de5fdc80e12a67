#define INSTRUCTIONS generic
#define BITS 64
#define MULTIPLY_VECTORS 1 // a tile of the product: rows in vectors of 64 bytes, columns
#define MULTIPLY_COLUMNS 4
#define GRAM_I 2 // a tile of the Gram matrix
#define GRAM_J 2
#include "all_simd.h"
