// Package kerneltest tests a kernels.Backend: one test body for each primitive, the same for all back ends. A
// back end's own test opens a device and calls All, and AllDense for the primitives of kernels.Dense.
//
// Every body compares the device with plain Go, slow and obvious, which is written here (matrix.go,
// reference.go, pivoting.go) and shares no code with any back end. The panels on the device have more rows
// than the matrices in them; the padding is filled with NaN, which spreads if it is read, and must be NaN
// still at the end. For AllDense there is such padding on all four sides. The sizes are odd, the two
// block-columns of a pivot differ in width by one, batches have 1, 2 and 7 problems.
//
// u is the unit roundoff, 2⁻⁵³, in all bounds. The bounds are those of the usual error analysis (a sum of m
// products has a relative error of at most m·u) times a small factor for the different orders of summation.
package kerneltest
