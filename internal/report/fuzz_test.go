package report

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

// FuzzInfo: of any info.json there is a signature that fits so many columns, or an error. One that is read is
// written and read again as the same. It takes no more memory than the file's length supports, and ends soon.
func FuzzInfo(f *testing.F) {
	for _, text := range []string{
		"", "{", "null", "[]", `{"signature": null}`, `{"signature": {"positive": 2}, "v_norm": 2.5}`,
		`{"signature": {"positive": 2, "signs": "-++-"}, "v_norm": 1e308}`, `{"signature": {"positive": -1}}`,
		`{"signature": {"positive": 9223372036854775807, "signs": "+"}}`, `{"signature": 3}`, `{"v_norm": 1e999}`,
		`{"convention": "A", "versions": {"jmpi": "1"}, "signature": {"positive": 1, "signs": "+\u2212"}}`,
		`{"Signature": {"positive": 1}, "signature": {"signs": "--+"}}`, strings.Repeat("[", 20000),
	} {
		f.Add(text, uint16(4))
	}
	path := filepath.Join(f.TempDir(), "info.json")
	again := filepath.Join(f.TempDir(), "again.json")
	f.Fuzz(func(t *testing.T, text string, columns uint16) {
		n := int(columns % 1024)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		begin, before := time.Now(), allocated()
		told, err := Read(path)
		s, normV := told.Signature, told.VNorm
		_, errWritten := Written(path)
		if took := allocated() - before; took > uint64(64*len(text)+1<<20) {
			t.Fatalf("%d bytes are allocated", took)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Fatalf("it takes %v", took)
		}
		if errWritten != nil {
			t.Fatal(errWritten)
		}
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Fatalf("the error does not name the file: %v", err)
			}
			return
		}
		if normV-normV != 0 {
			t.Fatalf("the norm of V is %v", normV)
		}
		diagonal, err := s.Diagonal(n)
		if err != nil {
			return
		}
		plus := 0
		for i, x := range diagonal {
			if x != 1 && x != -1 {
				t.Fatalf("sign %d is %v", i, x)
			}
			if x == 1 {
				plus++
			}
		}
		if len(diagonal) != n || s != nil && int64(plus) != s.Positive || s == nil && plus != n {
			t.Fatalf("%d signs, %d of them +1, for %d columns and %+v", len(diagonal), plus, n, s)
		}
		if s == nil {
			return
		}
		short, err := NewSignature(diagonal)
		if err != nil {
			t.Fatal(err)
		}
		if err := (Info{Signature: short, VNorm: normV}).Write(again); err != nil {
			t.Fatal(err)
		}
		back, err := Read(again)
		if err != nil || back.VNorm != normV {
			t.Fatalf("norm %v, then %v, error %v", normV, back.VNorm, err)
		}
		if same, err := back.Signature.Diagonal(n); err != nil || !reflect.DeepEqual(same, diagonal) {
			t.Fatalf("%v is read as %v, error %v", diagonal, same, err)
		}
	})
}

// allocated returns the bytes that were allocated since the program was started.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
