package report

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// A signature survives info.json, and is as short there as it can be.
func TestSignatureInInfo(t *testing.T) {
	for _, c := range []struct {
		signs []float64
		want  string // in the file, without white space
	}{
		{[]float64{1, 1, -1}, `"signature":{"positive":2},`},
		{[]float64{1, 1}, `"signature":{"positive":2},`},
		{[]float64{-1, -1}, `"signature":{"positive":0},`},
		{[]float64{}, `"signature":{"positive":0},`},
		{[]float64{-1, 1, 1, -1}, `"signature":{"positive":2,"signs":"-++-"},`},
	} {
		s, err := NewSignature(c.signs)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "info.json")
		if err := (Info{Signature: s, VNorm: 2.5}).Write(path); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(strings.Join(strings.Fields(string(text)), ""), c.want) {
			t.Errorf("%v: error %v, %s", c.signs, err, text)
		}
		told, err := Read(path)
		read, normV := told.Signature, told.VNorm
		if err != nil || normV != 2.5 {
			t.Fatalf("norm of V %g, error %v", normV, err)
		}
		if got, err := read.Diagonal(len(c.signs)); err != nil || !reflect.DeepEqual(got, c.signs) {
			t.Errorf("%v is read as %v, error %v", c.signs, got, err)
		}
	}
}

// Without signature it is the SVD: all +1.
func TestNoSignature(t *testing.T) {
	path := filepath.Join(t.TempDir(), "info.json")
	for range 2 {
		told, err := Read(path)
		s, normV := told.Signature, told.VNorm
		if s != nil || normV != 0 || err != nil {
			t.Errorf("signature %v, error %v", s, err)
		}
		if got, err := s.Diagonal(2); err != nil || !reflect.DeepEqual(got, []float64{1, 1}) {
			t.Errorf("diagonal %v, error %v", got, err)
		}
		if err := (Info{}).Write(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWrongSignatures(t *testing.T) {
	for _, signs := range [][]float64{{1, 0}, {1, -2}} {
		if s, err := NewSignature(signs); err == nil || !strings.Contains(err.Error(), "entry 2") {
			t.Errorf("%v: %v, error %v", signs, s, err)
		}
	}
	for _, s := range []Signature{{Positive: 4}, {Positive: -1}, {2, "+-+-"}, {1, "++-"}, {2, "++0"}, {2, "++"},
		{0, "+++"}} {
		if got, err := s.Diagonal(3); err == nil {
			t.Errorf("%v is the signature %v of 3 columns", s, got)
		}
	}
	path := filepath.Join(t.TempDir(), "info.json")
	for _, text := range []string{"", "{", `{"signature": 3}`} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if told, err := Read(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, error %v", text, told, err)
		}
	}
}
