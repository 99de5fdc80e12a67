package main

import (
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"jmpi/dist/devices"
	"jmpi/internal/matio"
	"jmpi/internal/matio/matiotest"
)

// FuzzSignature: of any file the reader of --signature gives the signs that another, simple reader finds, or
// an error that names the file.
func FuzzSignature(f *testing.F) {
	dir := f.TempDir()
	names := []string{"j.npy", "j.4x1.rowmajor.f64", "j.mtx"}
	two := "\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\xf0\xbf"
	f.Add(byte(0), npyFile("<f8", false, 4, 1, []byte(two+two)), uint16(4))
	f.Add(byte(0), npyFile("|i1", true, 1, 4, []byte{1, 255, 255, 1}), uint16(4))
	f.Add(byte(0), npyFile("|b1", true, 2, 2, []byte{1, 1, 1, 1}), uint16(4))
	f.Add(byte(0), npyFile("|u1", true, 1, 4, []byte{1, 1, 0, 1}), uint16(4))
	f.Add(byte(1), []byte(two+two), uint16(4))
	f.Add(byte(2), []byte("%%MatrixMarket matrix array integer general\n1 4\n1\n1\n-1\n1\n"), uint16(4))
	f.Add(byte(2), []byte("%%MatrixMarket matrix coordinate real general\n1 4 1\n1 1 1\n"), uint16(4))
	f.Add(byte(2), []byte("%%MatrixMarket matrix coordinate real general\n1 9223372036854775807 0\n"), uint16(4))
	f.Fuzz(func(t *testing.T, kind byte, image []byte, columns uint16) {
		path := filepath.Join(dir, names[int(kind)%len(names)])
		err := os.WriteFile(path, image, 0o666)
		if err == nil { // what is new is looked at twice, which takes long
			err = os.Chtimes(path, time.Now(), time.Now().Add(-time.Hour))
		}
		if err != nil {
			t.Fatal(err)
		}
		n := int64(columns)
		var signs []float64
		within(t, 32*len(image)+4<<20, func() {
			var file *matio.File
			if file, err = matio.OpenVector(path); err == nil {
				signs, err = signsIn(file, path, n)
				file.Close()
			}
		})
		want, good := matiotest.Read(path, image)
		good = good && (want.Rows == 1 || want.Cols == 1) && want.Rows*want.Cols == n
		for _, x := range want.X {
			good = good && (x == 1 || x == -1)
		}
		// A vector of a coordinate file is refused where it has more numbers than the file has bytes.
		sparse := kind%3 == 2 && n > int64(len(image))
		switch {
		case err != nil && good && !sparse, err == nil && !good:
			t.Fatalf("error %v, and the file has the signs: %v", err, good)
		case err != nil && !strings.Contains(err.Error(), path):
			t.Fatalf("the error does not name the file: %v", err)
		case err == nil && !equalNumbers(signs, want.X):
			t.Fatalf("%v, want %v", signs, want.X)
		}
	})
}

func equalNumbers(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// within asserts that f ends soon, and allocates no more than so many bytes.
func within(t *testing.T, bytes int, f func()) {
	t.Helper()
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	begin, before := time.Now(), sample[0].Value.Uint64()
	f()
	metrics.Read(sample)
	if took := sample[0].Value.Uint64() - before; took > uint64(bytes) {
		t.Fatalf("%d bytes are allocated, at most %d are expected", took, bytes)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Fatalf("it takes %v", took)
	}
}

// FuzzOptions: of any words of a command line there are values within their bounds, or an error of usage.
func FuzzOptions(f *testing.F) {
	for _, text := range []string{
		"1000x500", "0x9223372036854775807", "4294967296x4294967296", "-1x2", "64K,1M,256M", "1099511627776",
		"1024G", "9223372036854775807G", "--block 32 --max-sweeps 3 --v solve", "--threads 99999999999999999999",
		"--devices-per-rank -1", "--silence 0x10", "--backend=cuda --log json", "--precision float16",
		"--strategy brent", "--vectors none --signature 3", "--devices 4 --shape 10x10 --gflops NaN",
		"--sweeps 1e3 --objective link", "--gflops -Inf --devices 2", "-- --block", "--block=", "--quiet=maybe",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		within(t, 256*len(text)+1<<20, func() {
			fuzzShape(t, text)
			fuzzSizes(t, strings.Split(text, ","))
			fuzzFlags(t, strings.Fields(text))
		})
	})
}

// usage asserts that an error is one of usage.
func usage(t *testing.T, text string, err error) {
	t.Helper()
	if err != nil && exitCode(err) != exitUsage {
		t.Fatalf("%q: exit code %d: %v", text, exitCode(err), err)
	}
}

var shapeText = regexp.MustCompile(`^\+?([0-9]+)x\+?([0-9]+)$|^-0+x|x-0+$`)

func fuzzShape(t *testing.T, text string) {
	rows, cols, err := parseShape(text)
	usage(t, text, err)
	parts := shapeText.FindStringSubmatch(text)
	if err == nil && parts == nil {
		t.Fatalf("--shape %q is %d×%d", text, rows, cols)
	}
	if parts == nil || parts[1] == "" {
		return
	}
	m, _ := new(big.Int).SetString(parts[1], 10)
	n, _ := new(big.Int).SetString(parts[2], 10)
	bytes := new(big.Int).Mul(new(big.Int).Mul(m, n), big.NewInt(8))
	good := m.IsInt64() && n.IsInt64() && bytes.IsInt64()
	if good != (err == nil) || good && (rows != m.Int64() || cols != n.Int64()) {
		t.Fatalf("--shape %q is %d×%d, error %v", text, rows, cols, err)
	}
}

var sizeText = regexp.MustCompile(`^\+?([0-9]+)([KMG]?)$`)

func fuzzSizes(t *testing.T, texts []string) {
	sizes, err := parseSizes(texts)
	usage(t, strings.Join(texts, ","), err)
	good := len(texts) > 0
	for i, text := range texts {
		parts := sizeText.FindStringSubmatch(text)
		if parts == nil {
			good = false
			break
		}
		n, _ := new(big.Int).SetString(parts[1], 10)
		n.Lsh(n, uint(10*strings.Index(" KMG", parts[2])))
		inside := n.Sign() > 0 && n.Cmp(big.NewInt(1<<40)) <= 0 && n.Int64()%8 == 0
		if good = good && inside; err == nil && (!inside || sizes[i] != n.Int64()) {
			t.Fatalf("--sizes %q is %d", text, sizes[i])
		}
	}
	if good != (err == nil) {
		t.Fatalf("--sizes %q is %v, error %v", texts, sizes, err)
	}
}

// fuzzFlags reads words as the flags of svd and of plan.
func fuzzFlags(t *testing.T, words []string) {
	var f svdFlags
	flags := pflag.NewFlagSet("svd", pflag.ContinueOnError)
	flags.SetOutput(nowhere{})
	f.sessionFlags.register(flags)
	f.methodFlags.register(flags)
	flags.StringVar(&f.vectors, "vectors", "both", "")
	flags.StringVar(&f.signature, "signature", "", "")
	err := flags.Parse(words)
	f.output = "x"
	if err == nil {
		err = f.validate()
	}
	usage(t, strings.Join(words, " "), err)
	if err == nil && (f.threads < 0 || f.silence.seconds < 0 || f.block < 0 || f.innerBlock < 0 ||
		f.maxSweeps < 1 || f.devicesPerRank < 0 || f.backend > devices.CUDA) {
		t.Fatalf("%q: %+v", words, f)
	}
	if n, e := strconv.ParseInt(f.signature, 10, 64); e == nil {
		signs, _, e := leadingSigns(n, 100)
		if (e == nil) != (0 <= n && n <= 100) || e == nil && strings.Count(signText(signs), "+") != int(n) {
			t.Fatalf("--signature %d of 100 columns: %v, error %v", n, signs, e)
		}
	}
	cmd := newPlanCommand()
	cmd.Flags().SetOutput(nowhere{})
	usage(t, strings.Join(words, " "), cmd.Flags().Parse(words))
}

// signText writes signs as characters.
func signText(signs []float64) string {
	var b strings.Builder
	for _, x := range signs {
		b.WriteByte(map[float64]byte{1: '+', -1: '-'}[x])
	}
	return b.String()
}

// nowhere takes what is printed.
type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
