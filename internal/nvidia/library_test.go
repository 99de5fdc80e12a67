package nvidia

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

func TestFoldersLookInCUDAHome(t *testing.T) {
	t.Setenv("CUDA_HOME", "/opt/cuda")
	t.Setenv("CUDA_PATH", "")
	if got, want := folders(), []string{"", "/opt/cuda/lib64", "/usr/local/cuda/lib64"}; !slices.Equal(got,
		want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What is missing is named. The C library stands for one of NVIDIA's.
func TestMissing(t *testing.T) {
	if _, err := open("libnone.so.7"); !errors.Is(err, ErrMissing) ||
		!strings.Contains(err.Error(), "libnone.so.7") {
		t.Errorf("a library that is not there: %v", err)
	}
	l, err := open("libnone.so.7", "libc.so.6")
	if err != nil {
		t.Fatal(err)
	}
	var strlen, none uintptr
	if err := l.Bind(Routines{"strlen": &strlen}); err != nil || strlen == 0 {
		t.Fatalf("strlen at %#x: %v", strlen, err)
	}
	text := []byte("four\x00")
	if got := Invoke(strlen, uintptr(unsafe.Pointer(&text[0]))); got != 4 {
		t.Errorf("strlen returns %d", got)
	}
	err = l.Bind(Routines{"cuNone": &none})
	if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "cuNone") {
		t.Errorf("a routine that is not there: %v", err)
	}
	var length func(text *byte) int32
	if err := l.Register(map[string]any{"strlen": &length}); err != nil || length(&text[0]) != 4 {
		t.Errorf("strlen as a function: %v", err)
	}
}
