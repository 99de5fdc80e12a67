package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jmpi/internal/matio/matiotest"
)

// damagedCount is how many damaged files there are.
const damagedCount = 1000

// damaged is a damaged file, and what must come of it.
type damaged struct {
	svdRun
	path      string // of the file: the input, or the signature beside it
	good      bool   // it still is one that can be read
	want      matiotest.Matrix
	signature bool
}

// Of 1000 damaged files each is refused with one line and exit code 3, or decomposed rightly, as another
// reader finds what is in it. The program has little memory.
func TestDamagedFiles(t *testing.T) {
	random := rand.New(rand.NewPCG(matiotest.Seed(t), 2))
	dir := t.TempDir()
	var all []damaged
	for i := range damagedCount {
		all = append(all, spoilOne(t, random, dir, i))
	}
	good, refused := 0, 0
	for batch := range slices.Chunk(all, 250) { // a start of the program may take a minute
		var runs []svdRun
		for _, d := range batch {
			runs = append(runs, d.svdRun)
		}
		outcomes := svdRuns{Memory: 2 << 30, Flags: []string{"--threads", "1"}, Runs: runs}.on(t, alone)
		for i, d := range batch {
			if d.judge(t, outcomes[i]) {
				good++
			} else {
				refused++
			}
		}
	}
	t.Logf("%d are decomposed, %d are refused", good, refused)
	if good < damagedCount/40 || refused < damagedCount/3 {
		t.Errorf("of %d damaged files %d are refused and %d decomposed: the test shows little", damagedCount,
			refused, good)
	}
	for i := 0; i < damagedCount; i += damagedCount / 12 {
		all[i].testProgram(t, 1+i%2)
	}
}

// judge compares the outcome with what must come of the file, and tells whether it was decomposed.
func (d damaged) judge(t *testing.T, o outcome) bool {
	t.Helper()
	defer d.show(t)
	if d.good && d.beyond(o) {
		return false
	}
	if !d.good {
		o.refused(t, exitInput, filepath.Base(d.path))
		return false
	}
	if o.code != exitDone || o.stderr != "" {
		t.Errorf("%s: exit code %d, %s", d.path, o.code, o.stderr)
		return false
	}
	if d.signature {
		if r := o.check(t, d.Input); !r.Passed() {
			t.Errorf("%s: the check fails: %v", d.path, r.Rows)
		}
	} else if off := offBy(d.want, o); !(off < 1e-11) {
		t.Errorf("%s: the decomposition is off by %.2g", d.path, off)
	}
	return true
}

// show ends a test that failed with the file's bytes.
func (d damaged) show(t *testing.T) {
	t.Helper()
	if t.Failed() {
		text, err := os.ReadFile(d.path)
		t.Fatalf("%s: %q, error %v", d.path, text, err)
	}
}

// beyond tells whether a matrix was refused that is one, because it is too large, or its largest singular
// value is.
func (d damaged) beyond(o outcome) bool {
	largest := 0.0
	for _, x := range d.want.X {
		largest = max(largest, math.Abs(x))
	}
	line := strings.HasPrefix(o.stderr, "jmpi: ") && strings.Count(o.stderr, "\n") == 1
	switch {
	case o.code == exitDone:
		return false
	case d.want.X == nil && d.want.Rows*d.want.Cols > 0:
		return line && (o.code == exitFailure || o.code == exitInput)
	}
	tells := strings.Contains(o.stderr, "divide the matrix by 2^")
	return line && o.code == exitInput && largest > 1e307 && tells
}

// offBy returns the largest element of A − U·diag(S)·Vᵀ over that of A.
func offBy(a matiotest.Matrix, o outcome) (off float64) {
	m, n := int(a.Rows), int(a.Cols)
	largest := 0.0
	for _, x := range a.X {
		largest = max(largest, math.Abs(x))
	}
	if o.u.m != m || o.v.m != n && m*n > 0 || len(o.s) != min(m, n) {
		return math.Inf(1)
	}
	if largest == 0 {
		return slices.Max(append(o.s, 0))
	}
	for i := range m {
		for j := range n {
			x := a.X[i+j*m] / largest
			for k, s := range o.s {
				x -= o.u.at(i, k) * (s / largest) * o.v.at(j, k)
			}
			off = max(off, math.Abs(x))
		}
	}
	return off
}

// testProgram runs the program itself on the file.
func (d damaged) testProgram(t *testing.T, ranks int) {
	t.Helper()
	flags := ""
	if d.signature {
		flags = " --signature " + d.path
	}
	p := startProgram(t, t.TempDir(), ranks, "svd "+d.Input+" -o x"+flags)
	code := p.wait(t)
	lines := strings.Count("\n"+p.stderr.String(), "\njmpi: ")
	known := code == exitDone && lines == 0 || (code == exitInput || code == exitFailure) && lines == 1
	if !known || !d.good && code != exitInput {
		t.Errorf("%s on %d ranks: exit code %d, prints\n%s", d.path, ranks, code, p.stderr.String())
	}
}

// spoilOne writes a damaged file of number i, and what goes with it.
func spoilOne(t *testing.T, random *rand.Rand, dir string, i int) damaged {
	t.Helper()
	a := build(1+random.IntN(9), 1+random.IntN(9), func(i, j int) float64 {
		return math.Round(100 * random.NormFloat64())
	})
	kinds := []func(*rand.Rand, matrix) (string, []byte, []string){npyImage, npyImage, marketImage, marketImage,
		rawImage, signatureImage}
	kind := i % len(kinds)
	for {
		name, image, words := kinds[kind](random, a)
		image = matiotest.Damage(random, image, words)
		d := damaged{signature: kind == len(kinds)-1}
		d.path = filepath.Join(dir, fmt.Sprintf("f%04d%s", i, name))
		d.svdRun = svdRun{d.path, filepath.Join(dir, fmt.Sprintf("f%04d.svd", i)), "both"}
		d.want, d.good = matiotest.Read(d.path, image)
		d.good = d.good && d.want.Finite()
		if d.signature {
			d.Input = strings.Replace(d.path, ".signature", "", 1)
			ones := func(x float64) bool { return x != 1 && x != -1 }
			d.good = d.good && len(d.want.X) == a.n && (d.want.Rows == 1 || d.want.Cols == 1) &&
				!slices.ContainsFunc(d.want.X, ones)
		} else if size := d.want.Rows * d.want.Cols; size > 10_000 && size < 1<<32 {
			continue // as good as it was, and takes long
		}
		if d.signature {
			a.m = a.n + random.IntN(3)
			gauss(t, a.m, a.n).write(t, d.Input)
		}
		if err := os.WriteFile(d.path, image, 0o666); err != nil {
			t.Fatal(err)
		}
		return d
	}
}

// npyImage is a .npy file of any type that can be read.
func npyImage(random *rand.Rand, a matrix) (name string, image []byte, words []string) {
	byRows := random.IntN(2) == 0
	types := []struct {
		descr string
		size  int
		order binary.AppendByteOrder
	}{{"<f8", 8, binary.LittleEndian}, {">f8", 8, binary.BigEndian}, {"<f4", 4, binary.LittleEndian},
		{">f4", 4, binary.BigEndian}, {"<f2", 2, binary.LittleEndian}}
	kind := types[random.IntN(len(types))]
	return ".npy", npyFile(kind.descr, !byRows, a.m, a.n, a.encode(kind.size, kind.order, byRows)),
		[]string{"<f8", ">f8", "<f4", ">f2", "|b1", "<i2", "<u4", "|O", "<c16", "True", "False", "(", ")", ",",
			"shape", "descr", fmt.Sprintf("(%d, %d)", a.m, a.n), fmt.Sprintf("(%d, %d)", a.n, a.m),
			"(9223372036854775807, 1)", fmt.Sprintf("(%d,)", a.m*a.n), "(0, 5)", "\x01\x00", "\x02\x00",
			"\x03\x00", "\xff\xff"}
}

// marketImage is a Matrix Market file.
func marketImage(random *rand.Rand, a matrix) (name string, image []byte, words []string) {
	words = []string{"array", "coordinate", "real", "integer", "pattern", "unsigned-integer", "complex",
		"general",
		"symmetric", "skew-symmetric", "hermitian", "matrix", "%%MatrixMarket", "%", "\n", "\r\n", "\n\n", " ",
		"1e999", "1e-999", "nan", "-inf", "0x1p3", "1_0", "1.5D+03", "1.5-3", "99999999999999999999",
		"9223372036854775807",
		"4294967296 4294967297", "-1", "0", "1 1", "2 1 5", "+7"}
	if random.IntN(2) == 0 {
		image = fmt.Appendf(nil, "%%%%MatrixMarket matrix array real general\n%d %d\n", a.m, a.n)
		for _, x := range a.x {
			image = fmt.Appendln(image, x)
		}
		return ".mtx", image, words
	}
	symmetric := random.IntN(2) == 0
	m, n, symmetry, entries := a.m, a.n, "general", ""
	if symmetric {
		m, n, symmetry = min(a.m, a.n), min(a.m, a.n), "symmetric"
	}
	count := 0
	for j := range n {
		for i := range m {
			if random.IntN(3) > 0 && (!symmetric || i >= j) {
				entries += fmt.Sprintf("%d %d %g\n", i+1, j+1, a.at(i, j))
				count++
			}
		}
	}
	return ".mtx", fmt.Appendf(nil, "%%%%MatrixMarket matrix coordinate real %s\n%% comment\n%d %d %d\n%s",
		symmetry, m, n, count, entries), words
}

// rawImage is a raw file, whose name may be wrong too.
func rawImage(random *rand.Rand, a matrix) (name string, image []byte, words []string) {
	m, n, byRows := a.m, a.n, random.IntN(2) == 0
	if random.IntN(4) == 0 {
		m, n = n, m
	}
	if random.IntN(6) == 0 {
		m = random.IntN(12)
	}
	order := map[bool]string{true: "rowmajor", false: "colmajor"}[byRows]
	name = fmt.Sprintf(".%dx%d.%s.f64", m, n, order)
	if random.IntN(8) == 0 {
		name = fmt.Sprintf(".%dx%d.f64", m, n)
	}
	return name, a.encode(8, binary.LittleEndian, byRows), nil
}

// signatureImage is a signature of the columns, as integers or as float64.
func signatureImage(random *rand.Rand, a matrix) (name string, image []byte, words []string) {
	signs := build(1, a.n, func(int, int) float64 { return float64(1 - 2*random.IntN(2)) })
	words = []string{"<f8", "|i1", "|u1", "True", "False", fmt.Sprintf("(%d,)", a.n),
		fmt.Sprintf("(1, %d)", a.n), fmt.Sprintf("(%d, 1)", a.n), "\x01", "\xff", "\x00"}
	if random.IntN(2) == 0 {
		var data []byte
		for _, x := range signs.x {
			data = append(data, byte(int8(x)))
		}
		return ".signature.npy", npyFile("|i1", false, 1, a.n, data), words
	}
	return ".signature.npy", npyFile("<f8", false, 1, a.n, signs.encode(8, binary.LittleEndian, true)), words
}
