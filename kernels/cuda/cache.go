package cuda

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// cacheFolder returns where compiled kernels are kept: JMPI_CACHE_DIR, else jmpi in the user's cache folder.
func cacheFolder() (string, error) {
	if dir := os.Getenv("JMPI_CACHE_DIR"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "jmpi"), err
}

// cached is compile behind a cache. A cache that cannot be read or written makes it slower, but is no error.
func cached(c *compiler, file, source string, headers []header, options []string) ([]byte, error) {
	dir, err := cacheFolder()
	if err != nil {
		return c.compile(file, source, headers, options)
	}
	path := filepath.Join(dir, key(c.version, file, source, headers, options)+".cubin")
	if code, err := load(path); err == nil {
		return code, nil
	}
	code, err := c.compile(file, source, headers, options)
	if err == nil {
		_ = store(path, code)
	}
	return code, err
}

// key names everything that the machine code depends on.
func key(version, file, source string, headers []header, options []string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q", version, file, options, source)
	for _, x := range headers {
		fmt.Fprintf(h, " %q %q", x.name, x.text)
	}
	return strings.TrimSuffix(file, ".cu") + "-" + hex.EncodeToString(h.Sum(nil)[:16])
}

var errDamaged = errors.New("damaged")

// load reads a file that store wrote: the SHA-256 of the code, then the code.
func load(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(b) < sha256.Size {
		return nil, errDamaged
	}
	if sum := sha256.Sum256(b[sha256.Size:]); !bytes.Equal(sum[:], b[:sha256.Size]) {
		return nil, errDamaged
	}
	return b[sha256.Size:], nil
}

// store writes a file that appears whole, also if several processes write it.
func store(path string, code []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".cubin-*")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(code)
	_, err = f.Write(append(sum[:], code...))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
