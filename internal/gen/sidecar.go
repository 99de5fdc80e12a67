package gen

import "jmpi/internal/matio"

// Sidecar returns the path of the file beside a matrix file in which something known about the
// matrix is stored, what being "sigma", "lambda" or "signature": the matrix's path without its
// extension, then ".what.npy". The sidecar "sigma" of dir/a.npy is dir/a.sigma.npy.
func Sidecar(path, what string) string {
	return matio.Stem(path) + "." + what + ".npy"
}
