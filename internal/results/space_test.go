package results

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// smallDisk returns a file system of so many MiB.
func smallDisk(t *testing.T, mib int) string {
	t.Helper()
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mib))
	if errors.Is(err, syscall.EPERM) {
		t.Skip("only root may mount a small file system: what happens on a full disk is not tested")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// ofOrder are the files for a square matrix.
func ofOrder(n int64) []File {
	return []File{{"S.npy", n, 1, true}, {"U.npy", n, n, false}, {"V.npy", n, n, false}}
}

func TestReserve(t *testing.T) {
	root := t.TempDir()
	f, err := NewFolder(Target{Dir: root + "/out"}, Tag())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Create(); err != nil {
		t.Fatal(err)
	}
	defer f.unlock()
	if err := f.Reserve(ofOrder(300)...); err != nil {
		t.Fatal(err)
	}
	const matrix = 128 + 8*300*300
	for name, want := range map[string]int64{"S.npy": 128 + 8*300, "U.npy": matrix, "V.npy": matrix} {
		var s syscall.Stat_t
		if err := syscall.Stat(f.Path(name), &s); err != nil {
			t.Fatal(err)
		}
		if s.Size != want || 512*s.Blocks < want {
			t.Errorf("%s: %d bytes, %d on the disk, expected %d", name, s.Size, 512*s.Blocks, want)
		}
	}
}

// TestReserveFull: a disk that is too small is told at once, with what is needed and what is free.
func TestReserveFull(t *testing.T) {
	dir := smallDisk(t, 4)
	for _, c := range []struct {
		order int64
		want  string
	}{
		{1000, fmt.Sprintf("the results need %d bytes in %s, where 41", 3*128+8*1000*2001, dir)},
		{1 << 20, fmt.Sprintf("the results need %d bytes", 3*128+8*(1<<20)*(1+2*(1<<20)))},
		{200, ""},
		{1 << 60, "the results need 2126764793255865396"},
	} {
		f, err := NewFolder(Target{Dir: filepath.Join(dir, "out")}, Tag())
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Create(); err != nil {
			t.Fatal(err)
		}
		err = f.Reserve(ofOrder(c.order)...)
		says(t, err, c.want)
		if c.want != "" && !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("order %d: %v, expected no space left", c.order, err)
		}
		if err := f.Discard(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, error %v", left, err)
	}
}

// TestReserveTooLate: the look at the free space counts bytes, the disk counts blocks.
func TestReserveTooLate(t *testing.T) {
	dir := smallDisk(t, 1)
	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := filler.Close(); err != nil {
			t.Error(err)
		}
	}()
	free, known := freeBytes(dir)
	if !known {
		t.Fatal("the free space is not known")
	}
	if err := syscall.Fallocate(int(filler.Fd()), 0, 0, int64(free)-4096); err != nil {
		t.Fatal(err)
	}
	f, err := NewFolder(Target{Dir: filepath.Join(dir, "out")}, Tag())
	if err == nil {
		err = f.Create()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.unlock()
	err = f.Reserve(ofOrder(10)...)
	says(t, err, "where 4096 are free")
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v, expected no space left", err)
	}
}
