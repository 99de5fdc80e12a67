package matio

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// files has one matrix of 300 rows and 4 columns in every format, by name.
func files() map[string][]byte {
	want := newTwin(300, 4, func(i, j int) float64 { return float64(1 + i + 300*j) })
	return map[string][]byte{
		"a.npy":                npyImage(1, "<f8", true, "(300, 4)", numbers(1200)),
		"c.npy":                npyImage(1, ">f4", false, "(300, 4)", make([]byte, 4800)),
		"a.300x4.colmajor.f64": numbers(1200),
		"array.mtx":            []byte(marketText(want, false, "general")),
		"coord.mtx":            []byte(marketText(want, true, "general")),
	}
}

// TestChangedWhileRead: a file is read; whatever is then written to it, the next part that is read says so.
func TestChangedWhileRead(t *testing.T) {
	const changed = "changed while it was read: "
	nan := []byte(strings.Repeat("\xff", 64))
	for name, image := range files() {
		size := int64(len(image))
		for what, change := range map[string]func(path string) error{
			"one byte written again": func(path string) error { return overwrite(path, image[size-1:], size-1) },
			"all written again":      func(path string) error { return overwrite(path, image, 0) },
			"NaN": func(path string) error {
				return overwrite(path, nan, size-64)
			},
			"cut":     func(path string) error { return os.Truncate(path, size/2) },
			"emptied": func(path string) error { return os.Truncate(path, 0) },
			"longer":  func(path string) error { return os.Truncate(path, size+8) },
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), name)
				if err := os.WriteFile(path, image, 0o666); err != nil {
					t.Fatal(err)
				}
				f, err := Open(path)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				x := make([]float64, f.Rows*f.Cols)
				if err := f.ReadColumns(0, 2, x, int(f.Rows)); err != nil {
					t.Fatalf("before the change: %v", err)
				}
				if err := change(path); err != nil {
					t.Fatal(err)
				}
				_, sumError := f.Checksum(false, 0, 1)
				for reader, err := range map[string]error{
					"ReadColumns":  f.ReadColumns(2, 4, x, int(f.Rows)),
					"ReadColumnsT": f.ReadColumnsT(0, 1, x, 1),
					"ReadRows":     f.ReadRows(7, 8, x, 1),
					"ReadRowsT":    f.ReadRowsT(0, f.Rows, x, int(f.Cols)),
					"Checksum":     sumError,
				} {
					var damaged *Error
					if !errors.As(err, &damaged) || !strings.HasPrefix(damaged.What, changed) {
						t.Errorf("%s: error %v", reader, err)
					}
				}
			})
		}
	}
}

// overwrite writes over what a file has from a byte on.
func overwrite(path string, data []byte, at int64) error {
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = w.WriteAt(data, at)
	return errors.Join(err, w.Close())
}

// TestReplacedWhileRead: neither a new file of the same name nor other permissions change the open file.
func TestReplacedWhileRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	image := npyImage(1, "<f8", true, "(300, 4)", numbers(1200))
	if err := os.WriteFile(path, image, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	other := path + ".new"
	err = errors.Join(os.WriteFile(other, make([]byte, 5), 0o666), os.Chmod(path, 0o400), os.Rename(other, path))
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, 1200)
	if err := f.ReadColumns(0, 4, x, 300); err != nil || x[0] != 1 || x[1199] != 1200 {
		t.Errorf("reads %v … %v, error %v", x[0], x[1199], err)
	}
}

// TestStampOfFreshFile: a file is written, opened and written again without a pause; the second write is
// seen.
func TestStampOfFreshFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	image := npyImage(1, "<f8", true, "(30, 4)", numbers(120))
	x := make([]float64, 120)
	for range 30 {
		if err := os.WriteFile(path, image, 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if age := time.Since(time.Unix(0, f.Stamp().Modified)); age < tick {
			t.Fatalf("opened %v after it was written", age)
		}
		if err := overwrite(path, image[200:], 200); err != nil {
			t.Fatal(err)
		}
		if err := f.ReadColumns(0, 4, x, 30); err == nil {
			t.Fatal("a write right after the opening is not seen")
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStampOfOldFile: a file that was written to long ago is opened without a pause. Both ways to ask for its
// Stamp agree.
func TestStampOfOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	if err := os.WriteFile(path, make([]byte, 77), 0o666); err != nil {
		t.Fatal(err)
	}
	then := time.Unix(1234567890, 123456789)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}()
	begin := time.Now()
	first, err := firstStamp(file)
	if passed := time.Since(begin); err != nil || passed >= tick {
		t.Errorf("took %v, error %v", passed, err)
	}
	remembered, err := rememberedStamp(file)
	right := Stamp{Device: first.Device, Inode: remembered.Inode, Size: 77, Modified: then.UnixNano()}
	if err != nil || first != remembered || first != right || first.Inode == 0 {
		t.Errorf("%+v and %+v, error %v", first, remembered, err)
	}
}
