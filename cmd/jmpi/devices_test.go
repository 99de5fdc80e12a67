package main

import (
	"math"
	"testing"
)

func TestDeviceFlags(t *testing.T) {
	good := sessionFlags{log: "console"}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for _, spoil := range []func(f *sessionFlags){
		func(f *sessionFlags) { f.devicesPerRank = -1 },
		func(f *sessionFlags) { f.silence.seconds = -1 },
		func(f *sessionFlags) { f.silence.seconds = math.MaxInt32 + 1 },
	} {
		f := good
		spoil(&f)
		if err := f.check(); exitCode(err) != exitUsage {
			t.Errorf("%+v: exit code %d, %v", f, exitCode(err), err)
		}
	}
}
