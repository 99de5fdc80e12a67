// Package arch has no code, only a test: it reads the imports of every Go file of the module, whatever
// its build constraints, and fails on one that the architecture forbids (docs/design.md, Packages) and on a
// package that it does not know.
//
//	cmd/jmpi, dist/svd ──> dist ──> topology ──> strategy   strategy, topology: pure, standard library only
//	   │                     └────> node ──────> strategy
//	   │                             └─────────> kernels <── kernels/cpu, kernels/cuda
//	   └ dist/devices chooses a back end, which they hand down as kernels.Backend
package arch
