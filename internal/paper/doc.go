// Package paper makes the tables and figures of [Nov15, §6] (docs/REFERENCES.md) from timed decompositions.
//
//	Table 6.1    time of the sequential Jacobi driver DGESVJ over that of reverse R, spectrum 2
//	Table 6.2    time of reverse R, spectrum 2
//	Table 6.3    number of rotations, full block over block-oriented, and sweeps of both, all spectra
//	Fig. 6.1     time of the strategies over that of reverse R
//	Fig. 6.2     relative error (6.1) of the strategies
//
// The full block variant is meant where no other is named. Reverse R is the strategy rev-rowcyc. The figures
// have a panel for each spectrum; those of the paper have one for spectrum 2 and one for spectrum 1.
package paper
