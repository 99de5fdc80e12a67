package checkpoint

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jmpi/internal/matio/matiotest"
)

// Of 1000 checkpoints with a damaged file each is refused, in words that name the folder, or it is what was
// kept.
func TestDamagedFiles(t *testing.T) {
	seed := matiotest.Seed(t)
	random := rand.New(rand.NewPCG(seed, 3))
	dir := filepath.Join(t.TempDir(), "ck")
	if err := save(dir, 2, 7); err != nil {
		t.Fatal(err)
	}
	all := files(t, dir)
	words := []string{`"format":1`, `"format":2`, `"count":13`, `"count":-1`, `"bytes":24`,
		`"bytes":9223372036854775807`, `"sizes":null`, `"shared":true`, `"records":[null]`, `"records"`, `"files"`,
		`"at":"../../etc/passwd"`, "{", "}", "[", "]", ",", "null", "1e999"}
	refused := 0
	for range 1000 {
		path := all[random.IntN(len(all))]
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		raw := matiotest.Damage(random, whole, words)
		if err := os.WriteFile(path, raw, 0o666); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		found, err := resume(dir, 1+random.IntN(2))
		switch {
		case err == nil && found != 7:
			t.Errorf("%q in %s: it is taken for another checkpoint", raw, path)
		case err != nil:
			refused++
			says := strings.Contains(err.Error(), "damaged") || strings.Contains(err.Error(), "format")
			if !says || !strings.Contains(err.Error(), dir) {
				t.Errorf("%q in %s: %v", raw, path, err)
			}
		case string(raw) != string(whole) && filepath.Base(path) != manifestName:
			t.Errorf("%q in %s: the damage is not seen", raw, path)
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("%q in %s: it takes %v", raw, path, took)
		}
		// What is refused is left as it is.
		if err := os.WriteFile(path, whole, 0o666); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d are refused", refused)
	if found, err := resume(dir, 2); err != nil || found != 7 || refused < 500 {
		t.Errorf("%d are refused; undamaged: %d, %v", refused, found, err)
	}
}
