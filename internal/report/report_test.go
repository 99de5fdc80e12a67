package report

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// An info.json is known by its content, not by its name.
func TestWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "info.json")
	if _, err := Written(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: error %v", err)
	}
	for text, want := range map[string]bool{
		"":                                false,
		"\x00\x00\x00":                    false,
		"[]":                              false,
		`{"versions": 3}`:                 false,
		`{"convention": "A = USV"}`:       false,
		`{"versions": {"jmpi": "0.1.0"}}`: false,
		`{"versions": {"node": "22"}, "convention": "none"}`: false,
		`{"convention": "A", "versions": {"jmpi": "0.1.0"}}`: true,
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := Written(path); got != want || err != nil {
			t.Errorf("%q: %v, error %v, expected %v", text, got, err, want)
		}
	}
	long := Info{Convention: HyperbolicConvention, Versions: map[string]string{"jmpi": "0.1.0", "go": "1"}}
	if err := long.Write(path); err != nil {
		t.Fatal(err)
	}
	if got, err := Written(path); !got || err != nil {
		t.Errorf("what Write writes: %v, error %v", got, err)
	}
}
