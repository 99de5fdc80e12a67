package topology

const wordBytes = 8 // of a float64

// ColumnBytes returns the size of one macro block-column of G, and of V if it is carried: what a
// device sends in a phase.
func ColumnBytes(m, n int64, g int, vectors bool) int64 {
	rows := m
	if vectors {
		rows += n
	}
	return rows * ceil(n, 2*int64(g)) * wordBytes
}

// SweepFlops returns the floating-point operations of one sweep on all g devices together, inner sweeps
// limited to one and lower orders dropped. A pivot problem of order k takes m·k² for its Gram matrix, 2·m·k²
// for G·V', and 2·n·k² for V·V' if V is carried. The flat scheme, whose problems are narrow and many, comes
// to 6·m·n² + 4·n³. In the nested one k = n/g, there are 2·g-1 problems on each device, and the Jacobi method
// inside a factor, of 10·k³, counts too: 15 n³ for m = n and g = 2, 11.7 n³ for g = 8, against 10 n³.
func SweepFlops(m, n int64, g int, vectors, nested bool) float64 {
	rows := 3 * float64(m)
	if vectors {
		rows += 2 * float64(n)
	}
	if !nested || g == 1 {
		return 2 * rows * float64(n) * float64(n)
	}
	k := float64(n) / float64(g)
	return float64(g) * float64(2*g-1) * (rows*k*k + 10*k*k*k)
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }
