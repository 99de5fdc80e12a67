package kernels

// Address is a byte address in a back end's memory: host memory outside the
// Go heap for the CPU back end, device memory for a GPU. Only the back end that
// allocated it may follow it.
type Address uintptr

// WordBytes is the size of a float64.
const WordBytes = 8

// Element is the type of a panel's elements.
type Element int

const (
	Float64 Element = iota
	Float32
)

// Bytes is the size of an element.
func (e Element) Bytes() int {
	if e == Float32 {
		return 4
	}
	return WordBytes
}

func (e Element) String() string {
	if e == Float32 {
		return "float32"
	}
	return "float64"
}

// Panel is an m×n matrix in a back end's memory, column-major: element (i,j), 0-based, lies at
// Data + Type.Bytes()·(i + j·Ld), Ld ≥ M. The elements are float64 unless a primitive says that it takes
// others.
type Panel struct {
	M, N, Ld int
	Data     Address
	Type     Element
}

// Columns returns the panel of columns j0 ≤ j < j1.
func (p Panel) Columns(j0, j1 int) Panel {
	p.N, p.Data = j1-j0, p.Data+Address(j0*p.Ld*p.Type.Bytes())
	return p
}

// Rows returns the panel of rows i0 ≤ i < i1.
func (p Panel) Rows(i0, i1 int) Panel {
	p.M, p.Data = i1-i0, p.Data+Address(i0*p.Type.Bytes())
	return p
}

// Bytes returns the size of the panel's memory, padding rows included.
func (p Panel) Bytes() int64 { return int64(p.Ld) * int64(p.N) * int64(p.Type.Bytes()) }

// Mark stands for work of a device, see Memory. 0 stands for none.
type Mark uintptr

// Pivot is a pivot block-pair [P Q]: two block-columns with the same number of
// rows, P left of Q in the matrix, [Nov15, §2 (2.6)]. Their widths may differ.
type Pivot struct{ P, Q Panel }

// Order returns the order of the pivot's factor, the number of columns of [P Q].
func (p Pivot) Order() int { return p.P.N + p.Q.N }

// Tally counts what was done to one pivot problem.
type Tally struct {
	Rotations int64 // rotations applied
	Proper    int64 // of these, the proper ones (see Kind.Rotation)
	Open      int64 // of these, the ones of columns that were not orthogonal up to rounding errors
	Idle      int64 // of these, the ones of columns that were, but by an angle whose cosine is not 1
	Changed   int64 // 0: T = I
	Broken    int64 // 1: the Cholesky factorization broke down, the factor came from QR
	Inactive  int64 // 1: the columns are orthogonal, and nothing is done to them
	// Degenerate counts the hyperbolic rotations among Rotations for which 5/4 took the place of |coth
	// 2φ| (see Kind.Rotation). Where there are some in every sweep, the columns have no hyperbolic
	// SVD: rank(G·J·Gᵀ) < rank(G).
	Degenerate int64
	// Cosine is the largest cosine of an angle between two of the columns, before anything is done to them, at
	// most 1. Cholesky takes it from the Gram matrix, see there.
	Cosine float64
}

// Add adds the counters of another tally of rotations.
func (t *Tally) Add(other Tally) {
	t.Rotations += other.Rotations
	t.Proper += other.Proper
	t.Open += other.Open
	t.Idle += other.Idle
	t.Degenerate += other.Degenerate
}

// Settled tells, of a sweep, whether the columns are orthogonal: no rotation was proper. Idle rotations,
// which columns of nearly the same norm undergo for their rounding errors, mix columns by large angles, so
// there must be no open ones then: what was orthogonal would not be any more.
func (t *Tally) Settled() bool { return t.Proper == 0 && (t.Idle == 0 || t.Open == 0) }

// Batch is a set of pivot problems that share no block-column and are solved together.
// All slices that are not nil have the same length, one entry a problem, k its pivot's order.
type Batch struct {
	Type Element // of G, V, R and T
	G    []Pivot // block-columns to orthogonalize
	V    []Pivot // the same block-columns of the accumulated V; nil if V is not carried
	R    []Panel // k×k, the triangular factor: [P Q]ᵀ[P Q] = RᵀR, overwritten by R·T
	T    []Panel // k×k, the transformation V' of [Nov15, (2.9)]
	// Single has what comes to it if the type is float32; nil if it is float64.
	Single *Single
	// Positive is the number of ones in each problem's J = diag(I, −I), the signs of its columns in the
	// hyperbolic SVD: the leading Positive[i] of them have +1. nil: all, the SVD.
	Positive []int
	// Grams has PᵀP and QᵀQ of the columns of G, both triangles; nil where they are not kept (Limits.Grams). One
	// whose first element is 0 is not known. Afresh says that none is: they have the rounding errors of all
	// pivots since they were formed. They are kept where T comes from Jacobi with this batch, in the SVD.
	Grams  []Pivot
	Afresh bool
	// Quiet says that few of the problems are expected to need work. A back end may then spare the host rather
	// than share the device among problems. The bits do not depend on it.
	Quiet bool
	// Across is not nil where only pairs of a column of P with one of Q are to be made orthogonal. It has the
	// number of columns of P. See Cholesky and Jacobi.
	Across []int
	// Tally is written by the primitives that say so. It is valid after Sync.
	Tally []Tally
}

// Single is what a batch of float32 has besides. A column of the matrix is a column of G times a number of
// its own, its norm, of float64. So neither the range of float32 nor its precision minds how the columns are
// graded. The column of G has about the length 1, or it is zero, and so is its norm. See Pivots.
type Single struct {
	Norms   []Pivot // of the columns of G, float64: P is np×1 and Q is nq×1 where P and Q of G have np and nq
	Factors []Panel // of the columns of R, float64, k×1
	// Cosine is the largest cosine of an angle between two columns that pass for orthogonal, for example 3e-6. A
	// pivot without larger ones is left alone, and no rotation of such columns is proper.
	Cosine float64
	// Scaled says that V is the T of an outer level: it is to be multiplied by T, as G is.
	Scaled bool
}

// Ones returns how many leading columns of problem i, of order k, have sign +1.
func (b *Batch) Ones(i, k int) int {
	if b.Positive == nil {
		return k
	}
	return b.Positive[i]
}

// Left returns how many columns of problem i are those of P where only pairs across are to be made
// orthogonal, -1 where all pairs are.
func (b *Batch) Left(i int) int {
	if b.Across == nil {
		return -1
	}
	return b.Across[i]
}

// Schedule is a parallel pivot strategy as a table: Pairs holds the 0-based indices
// p < q of the pairs of all p-steps one after the other, Order/2 pairs a p-step. They stay as they are once
// Jacobi has had them.
type Schedule struct {
	Order int     // even
	Pairs []int32 // 2 · Order/2 · (number of p-steps)
}

// JacobiOptions parametrize the pointwise Jacobi method on the factors of a batch.
type JacobiOptions struct {
	// Schedule is of even order ≥ every factor's order. Pairs with an index ≥ k are skipped. With Batch.Across
	// the columns of P have the indices from 0 on, and those of Q from Order/2 on.
	Schedule  *Schedule
	MaxSweeps int // 1: block-oriented; 30: full block (until a sweep without rotations)
	// Independent says that the columns of the matrix are linearly independent, whatever those of a factor look
	// like: no column of R·T is set to zero.
	Independent bool
}

// Description says what a device is.
type Description struct {
	Kind    string `json:"kind"`    // "cpu" or "cuda"
	Name    string `json:"name"`    // as the hardware calls itself
	UUID    string `json:"uuid"`    // empty where there is none
	Threads int    `json:"threads"` // CPU threads that work for this device
	Memory  int64  `json:"memory"`  // bytes of the device's memory
	// what Alloc can still give besides the back end's own workspace; 0 where that is not told
	Free int64 `json:"-"`
	// the most that was allocated at a time, workspace included; 0 where that is not counted
	Peak    int64  `json:"-"`
	Library string `json:"library"` // the BLAS, with version
}

// Limits are what a plan of levels and widths is chosen from.
type Limits struct {
	PointwiseOrder int  // largest order of a factor that Jacobi takes
	RoundsUp       bool // Jacobi takes as long for a factor as for one whose order is the next power of two
	Width          int  // preferred width of the narrow block-columns, where Table has none
	Align          int  // preferred alignment of Ld, in elements of float64; twice as many of float32
	FullBlock      bool // two inner sweeps are faster than one in float64, and where columns are graded
	Tile           int  // columns of a matrix that Dense handles in one call of a library
	Grams          GramLimits
	Float32        Float32Limits
	Slabs          int // into how many slabs of rows a tall matrix is cut at most; 0: into short ones
	// bytes that the primitives allocate for themselves: whatever the matrix, and how much more at most
	Workspace, Scratch int64
	HostMemory         bool         // Alloc returns host memory, which any library may read and write
	Table              []Preference // widths by the order of the matrix, see Widths
}

// Float32Limits say what a device does in float32.
type Float32Limits struct {
	Pivots bool // the primitives of Pivots take batches; without it they fail with ErrType
	Order  int  // order of a matrix from which sweeps pay, refined in the end; 0: never
}

// Keep says in which sweeps Gram, Jacobi and Multiply keep the Gram matrices of block-columns (Batch.Grams).
type Keep int

const (
	KeepNever Keep = iota
	KeepEarly      // while all pivots are active: for the last sweeps the errors of what is kept are too large
	KeepAlways
)

// GramLimits say what is kept of each element type.
type GramLimits struct{ Float64, Float32 Keep }

// Of returns what is kept of such elements.
func (l GramLimits) Of(e Element) Keep {
	if e == Float32 {
		return l.Float32
	}
	return l.Float64
}

// Elements returns the types of elements that the primitives of Pivots take.
func (l Limits) Elements() []Element {
	if l.Float32.Pivots {
		return []Element{Float64, Float32}
	}
	return []Element{Float64}
}

// Backend is one device. Its methods may be called from one goroutine at a time, except Copy, Read and Write,
// which may run at the same time as the others, on memory that those do not touch. Methods may return before
// the work is done; work on one device is done in the order of the calls; the slices of a Batch and the
// Schedule may be changed again after Sync. Sync waits for all of it. Panels must not overlap unless it is
// said. Errors are wrapped, name the primitive, and leave the device usable only for Free and Close.
type Backend interface {
	Memory
	Pivots
	Dense
	Limits() Limits
	Close() error
}

// Memory is the memory of a device, for those who move what lies there.
type Memory interface {
	Describe() Description
	// Sync waits for all work of the device.
	Sync() error

	// Alloc returns bytes of memory, aligned to 256 bytes. It fails with ErrMemory if the device has not got
	// them. 0 bytes are allowed. That the memory becomes zero is queued. So what is queued afterwards finds it
	// zero, and Write, Read, and Copy on this device; others use it after Sync, or follow a later mark. One
	// large allocation that is cut into panels is faster to work on than many small ones (large pages).
	Alloc(bytes int64) (Address, error)
	// Free gives memory back, which what is queued may still use. What else uses it must have ended, or the
	// device follows its mark.
	Free(a Address) error

	// Write copies a host matrix (column-major, leading dimension ld ≥ dst.M) to dst; Read the reverse.
	// Both return when the host memory may be reused.
	Write(dst Panel, src []float64, ld int) error
	Read(dst []float64, ld int, src Panel) error
	// Copy copies src, on this device or on another of the same kind in this process, to dst on this device.
	// The shapes are the same. It returns when the copy is done. Any element type that Pivots take, the same
	// for both.
	Copy(dst, src Panel) error

	// Mark returns a mark of all that is queued now. Follow makes what is queued from now on wait for marks of
	// any devices of the same kind in this process; Await waits for them. Marks may be used at any time, by
	// anybody, as long as the device is open.
	Mark() (Mark, error)
	Follow(marks ...Mark) error
	Await(marks ...Mark) error
	// Bring starts to copy each src, on this device or on another of the same kind in this process, to the dst
	// of the same number on this device when the marks are done, and returns the mark of the copies. It does
	// not wait for what is queued, nor the other way round: who uses a dst, or changes a src, follows that mark.
	// Copies that are brought to a device follow one another. Shapes and element types are those of Copy.
	Bring(dst, src []Panel, after ...Mark) (Mark, error)
	// Beside calls f, and queues what f calls by itself: behind the marks and what was called beside before,
	// but not behind what else is queued, nor the other way round. It returns a mark of that, which what
	// depends on it follows. f may call all of Memory that does not wait for what is queued, and of Dense what
	// returns no numbers, but for factors, and products that are not of some columns of a matrix (Gemm, Of).
	// Where both want a multiprocessor, what was called beside gives way.
	Beside(f func() error, after ...Mark) (Mark, error)

	// AllocHost returns bytes of host memory that this device copies to and from at full speed (pinned, for a
	// GPU), outside the Go heap; FreeHost gives it back. Fetch copies bytes from device memory to it, Store the
	// reverse; both return when the copy is done, and any number may run at once, and while anything else runs.
	AllocHost(bytes int64) (Address, error)
	FreeHost(a Address) error
	Fetch(host, device Address, bytes int64) error
	Store(device, host Address, bytes int64) error
	// Attach makes the device current for libraries that the calling thread calls with its addresses (MPI); it
	// does nothing where the device's memory is host memory.
	Attach() error
}

// Pivots are the batched primitives of the Jacobi method, on pivot problems and on panels.
//
// A batch of float32 (Batch.Single) is of the SVD, Batch.Positive is nil, and differs from one of float64 in
// this. Norms apart, R is a factor of [P Q] in float32, and Jacobi works on R·D, D the diagonal matrix of
// Factors. T is D·T'·D'⁻¹, T' being the product of the rotations and D' the Factors afterwards. So R·T has
// columns of length 1. A column of R·T that is shorter than 2⁻²² before it is divided by D' is rounding
// errors: 2⁻²² then counts as its length. G·T may have any length there. Bounds have the unit roundoff 2⁻²⁴
// in place of u.
//
//	Gram      sets Factors to Norms
//	Cholesky  Broken is 1 if a diagonal element is not finite, or above 0 and below 2⁻⁶⁰, or if a pivot
//	          r_jj² is at most k·2⁻²⁴·h_jj. A column of zeros has a column of zeros in R. In place of
//	          ScreenTolerance it takes Cosine
//	Jacobi    Open and Proper are the rotations of columns with a cosine above Cosine; none is idle. Columns
//	          that have become shorter than 2⁻²² need not be rotated. T' is as orthogonal as the rotations
//	          leave it. No column becomes zero before its norm is below 2⁻¹⁰²²
//	Multiply  sets Norms to Factors where it multiplies G. V is multiplied by T' = D⁻¹·T·D', or by T (Scaled)
type Pivots interface {
	// Identity sets dst to zero, except ones where row = column + row0. Any element type that Pivots take.
	Identity(dst Panel, row0 int) error

	// Gram, Cholesky, QR and Multiply take pivots of any order; Jacobi those up to Limits.PointwiseOrder.

	// Gram forms R ← [P Q]ᵀ[P Q], both triangles, for each problem ([Nov15, Alg. 4.1]). It takes the products of
	// the columns of P, and those of Q, from Grams, where they are known, and puts them there where they are
	// not. For some orders a back end may neither read nor keep them, and it may form the diagonal anew. After
	// Multiply Grams has the products of the columns of R·T, or it is not known; Jacobi may put them there
	// already.
	Gram(b *Batch) error
	// Cholesky overwrites each Gram matrix in R by its upper triangular factor, zero below the diagonal, and
	// sets Tally to zero. Where the factorization breaks down, Broken is 1 and R undefined. That is so if a
	// diagonal element of H is not finite, if one is below 2⁻⁹⁰⁰ (its scaling is lost), or if a pivot r_jj² is
	// at most k·u·h_jj, u being UnitRoundoff ([Nov15, §4.1], which calls it ε). Where no diagonal element is one
	// of these and |h_ij| ≤ c·√h_ii·√h_jj for all i ≠ j, c being ScreenTolerance, Inactive is 1 and R stays as
	// it is. With Across only the i and j across count. QR, Jacobi and Multiply do nothing for such problems.
	// Cosine is the largest |h_ij|/(√h_ii·√h_jj) of all i ≠ j, up to a few roundings, but for columns whose
	// diagonal element is one of these, or zero.
	Cholesky(b *Batch) error
	// QR puts the upper triangular QR factor of [P Q] (zero below the diagonal, and below row min(m,k))
	// into R for the problems with Broken = 1 ([Nov15, (2.8)]). G is not changed.
	QR(b *Batch) error
	// Jacobi runs the pointwise one-sided Jacobi method on each factor: T ← product of the rotations, from the
	// identity, R ← R·T ([Nov15, §4.3]). The rotations of columns with different signs (Batch.Positive) are
	// hyperbolic. The columns with sign +1 are sorted by non-increasing norm, those with −1 by non-decreasing
	// norm, as far as proper rotations sort them, so that the eigenvalues of R·J·Rᵀ are non-increasing. One
	// Newton–Schulz step then makes T orthogonal, or J-orthogonal, TᵀJT = J, to working precision relative to
	// ‖T‖². It keeps the graded structure that T has for graded columns. Where J ≠ I it leaves out corrections
	// above 2⁻²⁶. A column of R·T whose norm is at most c(u)·√Σᵢ(min(|T_ij|, 1)·‖R_i‖)² is nothing but rounding
	// errors of dependent columns. It is set to zero, unless the options say that the columns are independent.
	// Jacobi adds to the counts of rotations in Tally and sets Tally.Changed. Columns whose norm is below 2⁻⁹⁹⁰
	// of the largest in the factor may count as zero: they are not rotated.
	Jacobi(b *Batch, o JacobiOptions) error
	// Multiply does [P Q] ← [P Q]·T for G, and for V if it is not nil, in the problems with Tally.Changed ≠ 0
	// ([Nov15, Alg. 4.2]). Columns of G whose column of R (that is, of R·T) is zero become zero.
	Multiply(b *Batch) error

	// ColumnNorms returns the 2-norms of p's columns, free of overflow and underflow where the
	// norm itself is representable ([Nov15, App. A]). Any element type that Pivots take.
	ColumnNorms(p Panel) ([]float64, error)
	// Product returns p·x, or pᵀ·x if transposed, for a few vectors: x holds `count` of them one after the
	// other, in host memory, and so does the result. The bits of pᵀ·x in one column do not depend on the other
	// columns. p·x comes in twice the working precision: first the high parts of all vectors, then the low ones.
	// Sums of such products over block-columns are rounded once, in the end. So they do not depend on how the
	// columns are spread over devices.
	Product(p Panel, transposed bool, x []float64, count int) ([]float64, error)
}
