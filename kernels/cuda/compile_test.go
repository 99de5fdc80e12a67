package cuda

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"jmpi/internal/nvidia"
	"jmpi/kernels"
)

// TestCompile compiles every kernel; it needs NVRTC, but no GPU.
func TestCompile(t *testing.T) {
	for _, architecture := range []string{"sm_70", "sm_80", "sm_90"} {
		err := Compile(architecture)
		if errors.Is(err, nvidia.ErrMissing) {
			t.Skipf("kernels not compiled: %v", err)
		}
		if architecture == "sm_70" && err != nil && strings.Contains(err.Error(), "with NVRTC 13.") {
			continue // which has left it out
		}
		must(t, err)
	}
}

// TestEntries compares the sources with the table of kernels and the constants that host and kernels share.
func TestEntries(t *testing.T) {
	names, headers, err := files()
	must(t, err)
	if len(names) != len(entries) || len(headers) == 0 {
		t.Fatalf("%d source files, %d in the table, %d headers", len(names), len(entries), len(headers))
	}
	for _, file := range names {
		text := strings.ReplaceAll(source(t, file), "\n", " ")
		if got := strings.Count(text, `extern "C" __global__`); got != len(entries[file]) {
			t.Errorf("%s has %d kernels, the table %d", file, got, len(entries[file]))
		}
		for _, name := range entries[file] {
			if !strings.Contains(text, " "+name+"(") {
				t.Errorf("%s has no kernel %s", file, name)
			}
			// One that starts early waits before it does anything else.
			waits := regexp.MustCompile(` ` + name + `\([^)]*\)\s*\{\s*in_turn\(\);`).MatchString(text)
			if waits != inTurn[name] {
				t.Errorf("%s waits for its turn: %t, want %t", name, waits, inTurn[name])
			}
		}
	}
	turns := []string{fmt.Sprintf("WARPS = %d;", turnWarps)}
	for _, k := range turnKernels {
		turns = append(turns, fmt.Sprintf("turn_columns<%d, %d>(", k.order, k.tiles))
	}
	for file, lines := range map[string][]string{
		"known.cuh": {fmt.Sprintf("KNOWN_WIDTH = %d;", knownWidth)},
		"tile.cuh":  {fmt.Sprintf("PAD = %d;", pad)},
		"stream.cuh": {fmt.Sprintf("STREAM_ROWS = %d, STREAM_COLUMNS = %d, STREAM_THREADS = %d;", streamRows,
			streamColumns, streamThreads)},
		"changed.cuh": {fmt.Sprintf("LISTED = %d;", streamListed)},
		"single_gram.cu": {fmt.Sprintf("GRAM_THREADS = %d, GRAM_BYTES = %d << 10;", singleGramThreads,
			(singleGramShared-singleAlign)>>10)},
		"single_tile.cuh":    {fmt.Sprintf("TILE = %d,", singleTile)},
		"single_multiply.cu": {fmt.Sprintf("GROUPS = %d,", singleGroups)},
		"product.cuh":        {fmt.Sprintf("ROWS = %d;", productRows)},
		"pivoted.cuh": {fmt.Sprintf("STATE = %d;", panelState), fmt.Sprintf("COLUMNS = %d;", panelColumns),
			fmt.Sprintf("BOUNDS = %d;", panelBounds), fmt.Sprintf("PARTS = %d,", panelParts),
			fmt.Sprintf("SAMPLES = %d;", kernels.Samples)},
		"pivot.cuh": {fmt.Sprintf("THRESHOLD = %g;", kernels.PanelThreshold),
			fmt.Sprintf("NEGLIGIBLE = %x", kernels.NegligibleLength)},
		"angles.cu":      {fmt.Sprintf("SIDE = %d;", kernels.PivotSide)},
		"natural.cu":     {fmt.Sprintf("NATURAL_THREADS = %d", naturalThreads)},
		"reflect.cu":     {fmt.Sprintf("SIDE = %d;", reflectSide)},
		"totals.cuh":     {fmt.Sprintf("SIDE = %d,", gramSide)},
		"gram_panel.cuh": {fmt.Sprintf("sizeof(State) == %d +", gramState)},
		"tall.cu": {fmt.Sprintf("SIDE = %d;", tallSide), fmt.Sprintf("HALF = %d;", tallHalf),
			fmt.Sprintf("SOLVERS = %d;", tallRows)},
		"turn_columns.cu":   turns,
		"qr.cu":             {fmt.Sprintf("PIECE = %d;", qrPiece)},
		"sweep.cuh":         {fmt.Sprintf("before[%d]", pointwiseOrder), fmt.Sprintf("after[%d]", pointwiseOrder)},
		"single_square.cuh": {fmt.Sprintf("LD = SIZE + %d,", pad)},
		"single_jacobi.cu":  {fmt.Sprintf("LETTERS = %d;", singleLetters), fmt.Sprintf("SPARE = %d;", singleSpare)},
	} {
		for _, line := range lines {
			if !strings.Contains(source(t, file), line) {
				t.Errorf("%s does not say %q", file, line)
			}
		}
	}
}

func source(t *testing.T, file string) string {
	t.Helper()
	text, err := sources.ReadFile(file)
	must(t, err)
	return string(text)
}

// TestCompileError tests that a fault is told with its line, in the source or in a header.
func TestCompileError(t *testing.T) {
	c, err := loadCompiler()
	if err != nil {
		t.Skipf("no compiler: %v", err)
	}
	_, err = c.compile("a.cu", "#include \"b.cuh\"\nint x = y;\n", []header{{"b.cuh", "\n\nint z = w;\n"}},
		[]string{"--std=c++17"})
	var fault *CompileError
	if !errors.As(err, &fault) {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{"a.cu:2: int x = y;", "b.cuh:3: int z = w;", "--std=c++17", "undefined"} {
		if !strings.Contains(fault.Error(), want) {
			t.Errorf("%q is missing in: %v", want, fault)
		}
	}
}

// TestCache tests that what was stored is found, that a damaged or unwritable cache is found out, and that
// the key has in it everything that the code depends on.
func TestCache(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "x.cubin")
	code := []byte("machine code")
	must(t, store(path, code))
	got, err := load(path)
	if err != nil || string(got) != string(code) {
		t.Fatalf("loaded %q, %v", got, err)
	}
	whole, err := os.ReadFile(path)
	must(t, err)
	for _, damaged := range [][]byte{whole[:len(whole)-1], whole[:5], append(code, whole...), nil} {
		must(t, os.WriteFile(path, damaged, 0o644))
		if _, err := load(path); err == nil {
			t.Errorf("%d bytes of %d were accepted", len(damaged), len(whole))
		}
	}
	if err := store("/dev/null/x", code); err == nil {
		t.Error("stored below a device")
	}
	h := []header{{"h", "text"}}
	keys := map[string]bool{
		key("13.0", "f.cu", "source", h, []string{"o"}):      true,
		key("12.0", "f.cu", "source", h, []string{"o"}):      true,
		key("13.0", "g.cu", "source", h, []string{"o"}):      true,
		key("13.0", "f.cu", "sources", h, []string{"o"}):     true,
		key("13.0", "f.cu", "source", nil, []string{"o"}):    true,
		key("13.0", "f.cu", "source", h, []string{"o", "p"}): true,
	}
	if len(keys) != 6 {
		t.Errorf("%d different keys of 6", len(keys))
	}
}
