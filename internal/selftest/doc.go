// Package selftest compares a device with a reference back end, primitive by primitive, on small random
// problems: what a user can run on a new machine to see that its GPUs, driver and libraries compute right.
//
// Every primitive gets the same input on both sides, made by the reference, so that an error shows where it
// is made. With the unit roundoff u = 2⁻⁵³, an m×k pivot [P Q], its columns a_i, and its factor R, a
// primitive passes if
//
//	memory        what was written is read back, also through pinned host memory         bit for bit
//	identity      is one                                                                bit for bit
//	norms         |‖a_i‖ − ‖a_i‖'| ≤ 2(m+2)·u·‖a_i‖
//	gram          |h_ij − h_ij'| ≤ 4m·u·‖a_i‖·‖a_j‖
//	cholesky      the same break-downs, |(RᵀR)_ij − h_ij| ≤ 4(k+1)·u·√h_ii·√h_jj
//	qr            |(RᵀR)_ij − (R'ᵀR')_ij| ≤ 16(m+k)·u·‖a_i‖·‖a_j‖
//	rotations     R·T and the counters of a p-step are the same                           bit for bit
//	jacobi-sigma  |σ_i − σ_i'| ≤ 40k·u·σ_i after sweeps to convergence, also of graded columns
//	jacobi-t      max|TᵀT − I| ≤ 16·√k·u
//	multiply      |([P Q]·T)_ij − ([P Q]·T)_ij'| ≤ 4k·u·Σ|a_il|·|t_lj|, and of V
//	elements      transposed, scaled, in another order                                   bit for bit
//	gemm          |(AᵀB)_ij − (AᵀB)_ij'| ≤ 4m·u·‖a_i‖·‖b_j‖
//	panel         the same pivots, |(Q·R)_ij − a_ij| ≤ 60u·‖a_j‖
//	copy          from another device                                                    bit for bit
//
// where ' marks the reference. The bounds are those of the analysis of errors in the worst case, for both
// sides together ([Nov15, §4]); random problems stay far below them.
package selftest
