package matio

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"jmpi/internal/matio/matiotest"
)

// The folder of the HDF5 files, or why there is none.
var (
	hdf5Once   sync.Once
	hdf5Folder string
	hdf5Error  error
)

// makeHDF5 has h5py write files of many kinds, once, and returns their folder, which TestMain deletes.
// Without h5py it skips the test.
func makeHDF5(t testing.TB) string {
	t.Helper()
	python := matiotest.H5py(t)
	hdf5Once.Do(func() {
		if hdf5Folder, hdf5Error = os.MkdirTemp("", "hdf5.*"); hdf5Error != nil {
			return
		}
		out, err := exec.Command(python, "testdata/hdf5/make.py", hdf5Folder).CombinedOutput()
		if err != nil {
			hdf5Error = fmt.Errorf("%w: %s", err, out)
		}
	})
	if hdf5Error != nil {
		t.Fatal(hdf5Error)
	}
	return hdf5Folder
}

// ofNpy returns the name of the matrix in an HDF5 file that a .npy file has too.
func ofNpy(path string) string {
	stem, set, named := strings.Cut(strings.TrimSuffix(path, ".npy"), "@")
	name := stem + ".h5"
	if _, err := os.Stat(name); err != nil {
		name = stem + ".mat"
	}
	if named {
		name += ":/" + strings.ReplaceAll(set, "_", "/")
	}
	return name
}

// Files of many kinds give, in every kind of part, the numbers that h5py has written.
func TestHDF5(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(makeHDF5(t), "*.npy"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".npy"), func(t *testing.T) {
			want, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer want.Close()
			got, err := Open(ofNpy(path))
			if err != nil {
				t.Fatal(err)
			}
			defer got.Close()
			if got.Rows != want.Rows || got.Cols != want.Cols {
				t.Fatalf("%d×%d instead of %d×%d", got.Rows, got.Cols, want.Rows, want.Cols)
			}
			if matlab := strings.Contains(path, "matlab"); matlab != (got.Order == ColMajor) {
				t.Errorf("order %s", got.Order)
			}
			compareParts(t, got, want)
		})
	}
}

// compareParts compares parts of two files, the whole matrix among them.
func compareParts(t *testing.T, got, want *File) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	cut := func(n int64) (int64, int64) {
		a, b := random.Int64N(n+1), random.Int64N(n+1)
		return min(a, b), max(a, b)
	}
	for k := range 60 {
		i0, i1 := cut(want.Rows)
		j0, j1 := cut(want.Cols)
		if k == 0 {
			i0, i1, j0, j1 = 0, want.Rows, 0, want.Cols
		}
		ld := int(max(i1-i0, j1-j0, 1)) + random.IntN(3)
		read := (*File).ReadPart
		if k%2 == 1 {
			read = (*File).ReadPartT
		}
		x, y := make([]float64, ld*ld), make([]float64, ld*ld)
		if err := errors.Join(read(got, i0, i1, j0, j1, x, ld), read(want, i0, i1, j0, j1, y, ld)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(x, y) {
			t.Fatalf("rows [%d, %d) of columns [%d, %d) differ", i0, i1, j0, j1)
		}
	}
}

// What is no matrix is refused with a line that says why.
func TestHDF5Refused(t *testing.T) {
	dir := makeHDF5(t)
	for name, what := range map[string]string{
		"text.h5": "texts, not real numbers", "complex.h5": "complex numbers", "compound.h5": "compound values",
		"scalar.h5": "no data set of two dimensions; there are: /A (a number)",
		"vector.h5": "h5py.File(", "cube.h5": "no data set of two dimensions; there are: /A (2×3×4)",
		"cube.h5:/A": "3 dimensions", "scalar.h5:A": "0 dimensions", "lzf.h5": "a filter (\"lzf\", number 32000)",
		"several.h5": "name one behind a colon: /A (61×43), /B (61×43)", "nothing.h5": "it has no data set",
		"null.h5": "no data set", "null.h5:/A": "without a shape", "reference.h5": "references",
		"external.h5": "in other files", "virtual.h5": "virtual", "none.h5": "not an HDF5 file",
		"short.h5": "truncated", "old.mat": "save('", "char.mat": "char array", "cell.mat": "cell array",
		"sparse.mat:/A": "save full(A)", "several.h5:/C": "there are: /A (61×43), /B (61×43)",
		"several.h5:/": "name a data set: /A (61×43)", "absent.h5:/A": "no such file",
		"several.h5:/A/B": "there are: /A",
	} {
		f, err := Open(dir + "/bad_" + name)
		if err == nil {
			t.Errorf("%s: opened", name)
			f.Close()
		} else if text := err.Error(); !strings.Contains(text, what) || strings.Contains(text, "\n") {
			t.Errorf("%s: %s\nbut not %q", name, text, what)
		}
	}
	for _, name := range []string{"nan.h5", "inf.h5"} {
		f, err := Open(filepath.Join(dir, "bad_"+name))
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, f.Rows*f.Cols)
		err = f.ReadColumns(0, f.Cols, x, int(f.Rows))
		f.Close()
		if notFinite := (*NotFiniteError)(nil); !errors.As(err, &notFinite) || notFinite.Row != 61 ||
			notFinite.Col != 43 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file whose superblock tells an end before that of its numbers is damaged, in one piece or in chunks: the
// library would give zeros for some.
func TestHDF5Ended(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(makeHDF5(t), "ended_*.h5"))
	if err != nil || len(files) != 33 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, path := range files {
		f, err := Open(path)
		if err == nil {
			err = f.ReadColumns(0, f.Cols, make([]float64, f.Rows*f.Cols), int(f.Rows))
			f.Close()
		}
		if err == nil {
			t.Errorf("%s is read", filepath.Base(path))
		} else if s := err.Error(); !strings.Contains(s, "damaged or cut short") || strings.Contains(s, "\n") {
			t.Error(s)
		}
	}
}

// What the library does not unpack is refused, though it could be unpacked.
func TestHDF5Level(t *testing.T) {
	f, err := Open(filepath.Join(makeHDF5(t), "bad_level.h5"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = f.ReadColumns(0, f.Cols, make([]float64, f.Rows*f.Cols), int(f.Rows))
	checkError(t, err, f.Path(), 0, "cannot be unpacked") // versions of the library say different things of it
}

// A vector may be a data set of one dimension.
func TestHDF5Vector(t *testing.T) {
	dir := makeHDF5(t)
	x, err := ReadVector(filepath.Join(dir, "bad_vector.h5"))
	if err != nil || !slices.Equal(x, []float64{0, 1, 2, 3, 4}) {
		t.Errorf("%v, error %v", x, err)
	}
}

// Without the library, and with one that is none, there is an error that says how to get it.
func TestHDF5WithoutLibrary(t *testing.T) {
	path := filepath.Join(makeHDF5(t), "gzip.h5")
	for _, name := range []string{"/nowhere/libhdf5.so", "libc.so.6"} {
		t.Setenv("JMPI_HDF5", name)
		f, err := Open(path)
		if err == nil {
			f.Close()
			t.Fatalf("opened with %s", name)
		}
		if text := err.Error(); !strings.Contains(text, "JMPI_HDF5") && !strings.Contains(text, "has no routine") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A matrix in packed rows is unpacked once where it is read in bands, and a few times at most where it is
// read by narrow columns.
func TestHDF5UnpackedOnce(t *testing.T) {
	dir := makeHDF5(t)
	for _, name := range []string{"large.h5", "large.mat"} {
		for _, transposed := range []bool{false, true} {
			f, err := Open(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			rows, cols, read := f.Rows, f.Cols, (*File).ReadPart
			if transposed {
				rows, cols = cols, rows
				read = func(f *File, i0, i1, j0, j1 int64, x []float64, ld int) error {
					return f.ReadPartT(j0, j1, i0, i1, x, ld)
				}
			}
			total := f.packed.lines * f.packed.length * f.packed.size
			f.packed.most = 2 * tileBytes
			const width = 20
			band := f.Band(transposed)
			x := make([]float64, max(band, rows)*width)
			for i := int64(0); i < rows; i += band {
				for j := int64(0); j < cols; j += width {
					if err := read(f, i, min(i+band, rows), j, min(j+width, cols), x, int(band)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if work := f.packed.work; work < total || work > total+total/4 {
				t.Errorf("%s, transposed %t, in bands of %d: unpacked %d bytes of %d", name, transposed, band, work,
					total)
			}
			for j := int64(0); j < cols; j += width {
				if err := read(f, 0, rows, j, min(j+width, cols), x, int(rows)); err != nil {
					t.Fatal(err)
				}
			}
			if work := f.packed.work; work > (mostTimes+2)*total {
				t.Errorf("%s, transposed %t, by columns: unpacked %d bytes of %d", name, transposed, work, total)
			}
			f.Close()
		}
	}
}

// Names of matrices, and of what is written beside them.
func TestNames(t *testing.T) {
	for _, c := range []struct{ name, file, set, stem string }{
		{"a.npy", "a.npy", "", "a"}, {"d.x/a", "d.x/a", "", "d.x/a"}, {"a.h5", "a.h5", "", "a"},
		{"d/a.h5:/g/A", "d/a.h5", "/g/A", "d/a.g.A"}, {"a.MAT:x", "a.MAT", "x", "a.x"},
		{"a.hdf5:/", "a.hdf5", "/", "a"}, {"a.h5.npy", "a.h5.npy", "", "a.h5"},
		{"b.matrix.h5:/a.h5:b", "b.matrix.h5", "/a.h5:b", "b.matrix.a.h5:b"},
	} {
		if file, set := SplitName(c.name); file != c.file || set != c.set {
			t.Errorf("%s: %q, %q", c.name, file, set)
		}
		if stem := Stem(c.name); stem != c.stem {
			t.Errorf("%s: %q", c.name, stem)
		}
	}
}
