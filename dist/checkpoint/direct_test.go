package checkpoint

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// Parts of any length, at any place, from memory that lies anywhere, which several goroutines write at a time
// by files of their own as ranks do, make the file that one write makes. So they do where the file system
// refuses to write past its cache, at once or later.
func TestPastCache(t *testing.T) {
	dir := t.TempDir()
	all := make([]byte, 5<<20)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(all)
	rapid.Check(t, func(t *rapid.T) {
		text := all[rapid.IntRange(0, pageBytes).Draw(t, "memory"):]
		text = text[:rapid.IntRange(1, len(text)).Draw(t, "length")]
		piece := rapid.SampledFrom([]int{8, 1000, pageBytes, 8 * 4100, directBytes, 3 << 20}).Draw(t, "piece")
		if piece < len(text)>>8 {
			text = text[:piece<<8]
		}
		name := filepath.Join(dir, "file")
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
		without := rapid.IntRange(0, 2).Draw(t, "without")
		const writers = 3
		errs := make([]error, writers)
		var wg sync.WaitGroup
		for k := range writers {
			wg.Go(func() { errs[k] = writeShare(name, text, piece, k, writers, without) })
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, text) {
			t.Fatalf("%v, %d bytes of %d", err, len(got), len(text))
		}
	})
}

// refusing is a file on a file system that cannot write so, and says it late.
type refusing struct{}

func (refusing) WriteAt([]byte, int64) (int, error) { return 0, unix.EINVAL }
func (refusing) Close() error                       { return nil }

// writeShare writes one of so many shares of a text.
func writeShare(name string, text []byte, piece, share, shares, without int) error {
	w, err := openPastCache(name)
	if err != nil {
		return err
	}
	switch {
	case without == 1 && w.direct != nil:
		err = w.direct.Close()
		w.direct = nil
	case without == 2 && w.direct != nil: // as if it had begun to refuse
		err = w.direct.Close()
		w.direct = refusing{}
	}
	for at := share * piece; at < len(text) && err == nil; at += shares * piece {
		err = w.WriteAt(text[at:min(at+piece, len(text))], int64(at))
	}
	if err == nil {
		err = w.Sync()
	}
	if e := w.Close(); err == nil {
		err = e
	}
	return err
}
