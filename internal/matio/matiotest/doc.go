// Package matiotest reads matrix files a second time, for tests that compare it with package matio. It takes
// them from memory, whole, as simply as can be, and shares no code with matio. Read tells of every file
// whether matio must take it, and what its numbers are.
//
// Damage makes a damaged copy of a file. Seed says which copies are made. H5py finds what makes HDF5 files.
package matiotest
