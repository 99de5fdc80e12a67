package main

import (
	"errors"
	"strings"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/devices"
	"jmpi/kernels"
	"jmpi/kernels/cpu"
)

// lazy is a device that sets nothing to ones.
type lazy struct{ kernels.Backend }

func (lazy) Identity(kernels.Panel, int) error { return nil }

// selftestOf runs the self-test of a single rank with these devices.
func selftestOf(t *testing.T, o devices.Opened) (code int, text string) {
	t.Helper()
	var out strings.Builder
	s := &session{comm: comm.NewLocal(1)[0], Opened: o}
	err := s.selftest(&printer{w: &out})
	return exitCode(err), out.String()
}

func TestSelftestVerdicts(t *testing.T) {
	be, err := cpu.Open(1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := be.Close(); err != nil {
			t.Error(err)
		}
	}()
	why := errors.New("no driver")
	for _, test := range []struct {
		name string
		o    devices.Opened
		code int
		has  []string
	}{
		{"right", devices.Opened{Devices: []kernels.Backend{be, be}}, exitDone,
			[]string{"gram          cpu:0 PASSED", "copy          cpu:1 from cpu:0 PASSED"}},
		{"wrong", devices.Opened{Devices: []kernels.Backend{lazy{be}}}, exitCheckFailed,
			[]string{"identity      cpu:0 FAILED", "norms         cpu:0 PASSED"}},
		{"no GPU", devices.Opened{Devices: []kernels.Backend{be}, FellBack: why, NoGPU: true}, exitDone,
			[]string{"% testing the CPU back end alone: no driver"}},
		{"GPUs that cannot be used", devices.Opened{Devices: []kernels.Backend{be}, FellBack: why}, exitCheckFailed,
			[]string{"% testing the CPU"}},
		{"GPUs", devices.Opened{Devices: []kernels.Backend{be}, GPUs: []int{3}}, exitDone,
			[]string{"qr            cuda:3 PASSED"}},
	} {
		code, text := selftestOf(t, test.o)
		last := map[int]string{exitDone: "\nPASSED\n", exitCheckFailed: "\nFAILED\n"}[test.code]
		if code != test.code || !strings.HasSuffix(text, last) {
			t.Errorf("%s: exit code %d, want %d:\n%s", test.name, code, test.code, text)
		}
		for _, line := range test.has {
			if !strings.Contains(text, line) {
				t.Errorf("%s: no line %q in\n%s", test.name, line, text)
			}
		}
	}
}
