package checkpoint

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// files lists all files of a checkpoint.
func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	for _, pattern := range []string{manifestName, "0*/*"} {
		some, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	if len(all) != 9 {
		t.Fatalf("%d files: %v", len(all), all)
	}
	return all
}

// A damaged file is refused, wherever the damage is, in words that name it.
func TestDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ck")
	if err := save(dir, 2, 7); err != nil {
		t.Fatal(err)
	}
	refused := func(what, path string) {
		t.Helper()
		seed, err := resume(dir, 2)
		if err == nil && seed == 7 && filepath.Base(path) == manifestName {
			return // names of fields may be written in large letters
		}
		if err == nil || !strings.Contains(err.Error(), "damaged") && !strings.Contains(err.Error(), "format") ||
			!strings.Contains(err.Error(), dir) {
			t.Errorf("%s of %s: %v", what, path, err)
		}
	}
	for _, path := range files(t, dir) {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		write := func(raw []byte) {
			if err := os.WriteFile(path, raw, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for i := range whole {
			if i%7 != 0 && filepath.Base(path) == manifestName {
				continue
			}
			other := slices.Clone(whole)
			other[i] ^= 1 << (i % 8)
			write(other)
			refused(fmt.Sprintf("byte %d", i), path)
		}
		for _, n := range []int{0, 1, len(whole) - 1} {
			write(whole[:n])
			refused(fmt.Sprintf("the first %d bytes", n), path)
		}
		write(append(slices.Clone(whole), whole...))
		refused("twice the bytes", path)
		write(whole)
		if filepath.Base(path) == manifestName {
			continue
		}
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		if _, err := resume(dir, 2); err == nil || !strings.Contains(err.Error(), "is missing") {
			t.Errorf("%s is missing: %v", path, err)
		}
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
	}
	if seed, err := resume(dir, 2); err != nil || seed != 7 {
		t.Errorf("undamaged: %d, %v", seed, err)
	}
}

// No bytes make a manifest panic, or one that is taken has files outside of the folder.
func FuzzManifest(f *testing.F) {
	m := manifest{Format: Format, Version: "1", Run: "a", Generation: 1, Records: []*record{{Path: "1",
		Kind: "first", Facts: map[string]rawFact{"x": rawFact("1")}, Files: []*file{{Name: "x",
			At: "000001/1.x", Shape: Shape{Count: 2, Bytes: 8}}}}}}
	raw, err := m.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"format":1,"records":[null]}`))
	f.Add(binary.LittleEndian.AppendUint64(nil, 1))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := decode(raw)
		if err != nil {
			return
		}
		for _, file := range m.files() {
			if !filepath.IsLocal(file.At) || file.offset(file.Count) < 0 {
				t.Errorf("a file at %q, of %d bytes", file.At, file.offset(file.Count))
			}
		}
	})
}
