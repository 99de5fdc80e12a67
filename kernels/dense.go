package kernels

// Dense are the primitives of what is done to a matrix before and after the Jacobi method. Panels are float64
// unless it is said, and any of their sizes may be 0. On a GPU the work is queued like that of Pivots; a
// primitive that returns numbers waits for them. Slices of numbers may be changed again after the call.
//
// The bits of a result depend on the shapes in the call and on nothing else: not on the number of threads,
// and in a list not on the other members. So callers keep to shapes that follow from the matrix alone. Where
// a device has some columns of a matrix, the number of these does not, and they say how many there are in
// all: that takes its place (Gemm, Reflect).
type Dense interface {
	// Convert copies src to dst, of the same shape, and rounds to dst's element type.
	Convert(dst, src Panel) error
	// Zero sets panels to zero. Any element type.
	Zero(p ...Panel) error
	// Transpose does dst[k] ← src[k]ᵀ for all panels of two lists. No dst overlaps any other panel.
	Transpose(dst, src []Panel) error
	// GatherRows makes row i of dst row from[i] of src, or zero where from[i] < 0. The widths are the same;
	// from has dst.M numbers.
	GatherRows(dst, src Panel, from []int) error
	// MoveColumns copies columns: column to[k] of dst becomes column from[k] of src, rounded to dst's element
	// type. Both have the same number of rows. They may be the same panel; then all columns are read before one
	// is written. No number in `to` comes twice. Any element types.
	MoveColumns(dst Panel, to []int, src Panel, from []int) error
	// Scale does x_ij ← (x_ij·rows[i])·columns[j]; nil stands for ones.
	Scale(p Panel, rows, columns []float64) error
	// Divide does x_ij ← (x_ij/rows[i])/columns[j]; nil stands for ones.
	Divide(p Panel, rows, columns []float64) error
	// Ldexp does x ← 2^e·x, exact but for what leaves the range.
	Ldexp(p Panel, e int) error
	// Add does dst ← dst + src, of the same shape.
	Add(dst, src Panel) error
	// Put gives dst the elements x, column-major. It is like Write, but queued: the host waits for nothing,
	// unless there are many.
	Put(dst Panel, x []float64) error

	// Elements returns the elements of all panels, one after the other, column-major.
	Elements(p []Panel) ([]float64, error)
	// Lengths returns the 2-norms of the columns of all panels, one after the other. They are good for
	// comparing: fast, and right to m·u at most, near the ends of the range too. NaN and infinite elements give
	// NaN or +Inf.
	Lengths(p []Panel) ([]float64, error)
	// RowMaxima returns max_j |x_ij|/columns[j] for each row, over the elements that are not zero; nil stands
	// for ones. It is 0 where all are zero. A NaN among the elements is not seen.
	RowMaxima(p Panel, columns []float64) ([]float64, error)
	// ColumnMaxima returns max_i |x_ij|/rows[i] for each column in the same way.
	ColumnMaxima(p Panel, rows []float64) ([]float64, error)
	// Leads returns of each column the first element of largest magnitude, 0 for a column of zeros. A NaN among
	// the elements is not seen.
	Leads(p Panel) ([]float64, error)
	// Angles measures an n×n matrix of cosines, and may put angles in their place. A panel h[k] has some of its
	// columns, from number first[k] on. The element c in row i and column j is the cosine of the angle between
	// two columns of another matrix, of norms d_i and d_j, which are positive. Where |c| exceeds the tolerance,
	// the angle of a rotation that makes the two orthogonal, to first order, is
	//
	//	e = ±r·|c|/((1 − r)·(1 + r)),  r = min(d_i, d_j)/max(d_i, d_j),
	//
	// with the sign of c if d_j > d_i, the opposite sign otherwise. There is none where |c| does not exceed the
	// tolerance, and on the diagonal. An angle over a limit is large, and is left out. If asked to write, the
	// primitive writes the angles up to the last limit, and 0 where there is none. Of a symmetric matrix this
	// makes an antisymmetric one.
	Angles(h []Panel, first []int, norms []float64, o AngleOptions) (Angles, error)

	// Gemm does C ← α·op(A)·op(B) + β·C for some products, of which no C overlaps any other panel. β = 0 does
	// not read C. The element types of a product are the same. Float64 products round componentwise: no fast
	// multiplication of matrices, no emulation.
	Gemm(products []Gemm) error
	// TurnColumns does A ← A·Q for each A of a list, in place, and the square Q of the same number, of an order
	// up to TurnWidth. No A overlaps any other panel. The products round componentwise, as those of Gemm.
	TurnColumns(a, q []Panel) error
	// Syrk does C ← AᵀA for some A and the C of the same number, both triangles, with the same bits in C_ij and
	// C_ji. Any element type, the same for an A and its C.
	Syrk(a, c []Panel) error
	// Departures overwrites each square, symmetric panel P of a list by the upper triangular S with S + Sᵀ =
	// P − I. It reads the upper triangle.
	Departures(p []Panel) error
	// Potrf overwrites the symmetric matrix A by its upper triangular factor, A = RᵀR, zero below the diagonal.
	// It reads the upper triangle. It returns how many columns were factored: less than A.N where a pivot is not
	// positive, or NaN. Then the leading part of that order has its factor, and the rest of A is undefined.
	Potrf(a Panel) (done int, err error)
	// Trsm does B ← B·R⁻¹, or B·R⁻ᵀ if transposed, for each B of a list and an upper triangular R, of which it
	// reads no more than that triangle. Any element type, the same for all.
	Trsm(b []Panel, r Panel, transposed bool) error

	// FactorPanel factors the first min(m,n) columns of an m×n panel, n ≤ PanelWidth, by Householder reflectors,
	// in their order: A = Q·[R; 0]. Q.Y has A's rows and min(m,n) columns; Q.T and r have order min(m,n). r is
	// zero below its diagonal. Q.Y may be the first columns of A. Or r may be the first rows of these; then the
	// rows below become zero. Otherwise A is undefined afterwards.
	FactorPanel(a Panel, q Reflectors, r Panel) error
	// FactorPivoted factors columns of an m×n panel, n ≤ PivotedWidth. In every step it takes the longest column
	// of what remains, unless that is noise which becomes zero. It ends before the first that is shorter than
	// PanelThreshold·Bound, but takes one at least unless all are noise or shorter than NegligibleLength. Q.Y is
	// m×min(m,n), Q.T and r of order min(m,n). The first Count columns of Q.Y, and the leading Count×Count part
	// of Q.T, are those of the reflectors. That part of r is R of the columns Pivots. The rest of Q.Y, Q.T and r
	// becomes zero: so the reflectors may be applied before it is known how many there are. A is undefined
	// afterwards. What it returns waits, and tells what was found, before the next call.
	FactorPivoted(a Panel, q Reflectors, r Panel, o PanelOptions) (found Found, err error)
	// Join makes reflectors of those of several panels: Q.T has on its diagonal the triangular factors of panels
	// of PanelWidth reflectors, the last of what is left, and gets −T₁·(Y₁ᵀ·Y₂)·T₂ above them. Then I − Y·T·Yᵀ
	// is the product of those of the panels.
	Join(q Reflectors) error
	// Reflect does C ← Q·C, or C ← Qᵀ·C if transposed, for each C of a list, which do not overlap. They are
	// columns of a matrix of `of` columns, or with 0 by themselves.
	//
	// FactorPanel, FactorPivoted, Join and Reflect form sums over rows in short pieces (internal/dense, Sums),
	// for more reflectors than a panel has Reflect in longer ones. A sum of terms of one sign is right to some
	// tens of u, however many they are: Q is as orthogonal as these sums are right.
	Reflect(q Reflectors, transposed bool, c []Panel, of int) error
}

const (
	// TurnWidth is the largest number of columns that TurnColumns takes in a panel: so many elements of a row
	// are read before one is written.
	TurnWidth = 128
	// PanelWidth and PivotedWidth are the largest numbers of columns that FactorPanel and FactorPivoted take.
	// With pivoting more would cost more than they save.
	PanelWidth   = 64
	PivotedWidth = 32
	// PanelThreshold is how much smaller than the longest column that was left out of a panel a pivot of it may
	// be.
	PanelThreshold = 0.5
	// NegligibleLength is the length below which a column counts as zero where columns are pivoted. What is left
	// of dependent columns are rounding errors, then the errors of those, and so on: at the end of the range of
	// float64 their reflectors would not be orthogonal any more.
	NegligibleLength = 0x1p-900
)

// PivotSide is the order of the square pieces that Angles counts.
const PivotSide = 32

// AngleOptions say which angles there are.
type AngleOptions struct {
	Tolerance float64   // of cosines
	Limits    []float64 // of angles: one at least, and MaxLimits at most
	Write     bool      // the angles, in place of the cosines
}

// MaxLimits is the most limits that Angles looks at in one call, which reads the matrix once.
const MaxLimits = 4

// Angles is what the primitive Angles finds in all panels.
type Angles struct {
	Cosine float64 // the largest |c| off the diagonal; a NaN is not seen
	// how many pieces of PivotSide×PivotSide elements, those at the lower and right edges of a panel being
	// smaller, have a cosine over the tolerance off the diagonal
	Active int
	Within []Within // for each limit
}

// Within is what there is of angles within a limit, and where others are.
type Within struct {
	Largest float64 // the largest |e| that is not left out
	Sum     float64 // the largest of the sums over a column of such |e|; NaN if a cosine is
	// of each column, those of all panels one after the other, the rows of the first and the last e that is left
	// out; n and −1 where there is none
	Left [][2]int32
}

// Join adds what was found in other columns, but for the rows of what is left out.
func (a *Angles) Join(b Angles) {
	a.Cosine, a.Active = max(a.Cosine, b.Cosine), a.Active+b.Active
	for l, w := range b.Within {
		to := &a.Within[l]
		to.Largest, to.Sum = max(to.Largest, w.Largest), max(to.Sum, w.Sum)
	}
}

// Gemm is a product of matrices: C ← Alpha·op(A)·op(B) + Beta·C, where op(X) is Xᵀ if TransX.
type Gemm struct {
	TransA, TransB bool
	Alpha          float64
	A, B           Panel
	Beta           float64
	C              Panel
	// Of says that B, which is not transposed, and C have columns of matrices of so many; 0: they have all. On
	// GPUs the bits are those of the product with all columns. On hosts they are those of the shapes.
	Of int
}

// Reflectors is the product Q = I − Y·T·Yᵀ of k Householder reflectors of length m ([SVL89]).
type Reflectors struct {
	Y Panel // m×k, unit lower trapezoidal, zero above its diagonal
	T Panel // k×k, upper triangular, zero below its diagonal
}

// Samples is the number of random errors that are followed for each column.
const Samples = 8

// PanelNoise are the rounding errors of an m×n panel, on its device (internal/dense tells what they mean).
// There are some bounds of the elements, one at least, each a product of a size of the row and one of the
// column. Where the rows from i on are left, the noise of a column is the least of these: for each bound the
// length of its Rows from i on times that of the column's samples, and the length of the column's last
// samples. The reflector I − τ·v·vᵀ makes √(((1 − τ·v_l²)·r_l)² + Σ_{i≠l}(τ·v_l·v_i·r_i)²) of the size r_l of
// a row. Where f times a pivot goes from a column, f times the pivot's samples go from the column's.
type PanelNoise struct {
	Rows    Panel // m×bounds: the sizes of the rows, afterwards those after all reflectors
	Samples Panel // (bounds+1)·Samples numbers a column: those of each bound, then the last ones
	// as many rows and min(m,n) columns: becomes the samples of the columns Pivots when they were taken, over
	// the diagonal elements of R, and zero behind these
	Ratios Panel
}

// Bounds returns the number of bounds, 0 where no noise is followed.
func (n *PanelNoise) Bounds() int {
	if n == nil {
		return 0
	}
	return n.Rows.N
}

// Dropping says which columns that are nothing but noise become zero. The longest that is left is noise if it
// is no longer than its noise; others are not judged by their length. Where no noise is followed none is.
type Dropping struct {
	Longest float64 // those up to this length
	// longer ones are taken as any other; otherwise the panel ends before the first of them that is not its
	// first column
	Retain bool
	// But if this is not 0, those become zero at once, longest or not, that are noise of this size or more, as a
	// whole and in every element: no |x_l| exceeds r_l·‖the samples of the bound‖, for any bound.
	Reach float64
}

// PanelOptions say how a panel is pivoted.
type PanelOptions struct {
	Bound float64     // the length of the longest column that was left out
	Noise *PanelNoise // nil: none is followed
	Drop  Dropping
}

// Found tells what FactorPivoted has found.
type Found func() (PanelResult, error)

// PanelResult is what FactorPivoted has found.
type PanelResult struct {
	Count  int       // columns taken
	Rank   int       // how many of them were more than noise
	Pivots []int     // Pivots[j]: the column of the panel that was taken j-th
	R      []float64 // Count×Count, column-major, upper triangular, of the columns Pivots
	Tau    []float64 // of the reflectors
	// columns of the panel that became zero because they were nothing but noise, and how many others had been
	// taken then. Those of a step come in any order
	Noisy [][2]int
	// Where noise is followed:
	Columns []float64   // the samples of the columns Pivots when these were taken
	From    [][]float64 // From[b][j]: length of bound b's Rows from j on, j ≤ Count columns having been taken
}
