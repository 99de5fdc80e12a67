package nvidia

import (
	"strings"
	"testing"
)

func TestHiddenGPUs(t *testing.T) {
	env := map[string]string{"CUDA_VISIBLE_DEVICES": "2,3"}
	if got := Hidden(func(name string) string { return env[name] }); !strings.Contains(got,
		"CUDA_VISIBLE_DEVICES=2,3") {
		t.Errorf("%q", got)
	}
	if got := Hidden(func(string) string { return "" }); got != "" {
		t.Errorf("nothing set: %q", got)
	}
}
