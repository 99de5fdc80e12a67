package main

import (
	"strings"
	"testing"

	"jmpi/internal/limits"
)

func TestCheckThreads(t *testing.T) {
	for _, test := range []struct {
		threads int
		given   bool
		left    int64
		by      string
		code    int
	}{
		{1000, true, 0, "", exitDone},
		{16, true, 16 + otherThreads, "ulimit -u 100", exitDone},
		{17, true, 16 + otherThreads, "ulimit -u 100", exitUsage},
		{2, false, 1, "ulimit -u 100", exitFailure},
	} {
		err := checkThreads(test.threads, test.given, test.left, test.by)
		if code := exitCode(err); code != test.code || err != nil && !strings.Contains(err.Error(), test.by) {
			t.Errorf("%+v: exit code %d, %v", test, code, err)
		}
	}
}

func TestCheckSpace(t *testing.T) {
	for _, test := range []struct {
		space limits.Space
		ok    bool
		code  int
	}{
		{limits.Space{}, false, exitDone},
		{limits.Space{Name: "-v", Limit: 4 << 30, Left: 1}, true, exitDone},
		{limits.Space{Name: "-v", Limit: 4 << 30, Left: -1 << 30}, true, exitFailure},
	} {
		err := checkSpace(test.space, test.ok)
		if code := exitCode(err); code != test.code || err != nil &&
			!strings.HasPrefix(err.Error(), "ulimit -v 4194304 leaves 1 GiB too little") {
			t.Errorf("%+v: exit code %d, %v", test, code, err)
		}
	}
}

// TestFlagsRefuse: values that would stop the machine or abort, and texts that are empty.
func TestFlagsRefuse(t *testing.T) {
	for _, test := range []struct {
		args, env []string
		say       string
	}{
		{[]string{"svd", "a.npy", "--threads", "10000"}, nil, "--threads 10000: must be at most 1024"},
		{[]string{"svd", "a.npy"}, []string{"JMPI_THREADS", "99999999"},
			"--threads 99999999: must be at most 1024"},
		{[]string{"bench", "--threads", "1025"}, nil, "--threads 1025: must be at most 1024"},
		{[]string{"svd", "a.npy", "--devices-per-rank", "99999999"}, nil,
			"--devices-per-rank 99999999: must be at most 8192"},
		{[]string{"svd", "a.npy", "-o", ""}, nil, "--output is empty"},
		{[]string{"svd", "a.npy"}, []string{"JMPI_OUTPUT", ""}, "--output is empty"},
		{[]string{"svd", "a.npy", "--signature="}, nil, "--signature is empty"},
		{[]string{"gen", "gauss", "-o", "", "--shape", "3x3"}, nil, "--output is empty"},
		{[]string{"plan", "--devices", "2", "--hostfile", ""}, nil, "--hostfile is empty"},
	} {
		t.Run(strings.Join(append(test.args, test.env...), " "), func(t *testing.T) {
			if test.env != nil {
				t.Setenv(test.env[0], test.env[1])
			}
			root := newRootCommand()
			root.SetArgs(test.args)
			err := root.Execute()
			if code := exitCode(err); code != exitUsage || !strings.Contains(err.Error(), test.say) {
				t.Errorf("exit code %d, %v; want %d and %q", code, err, exitUsage, test.say)
			}
		})
	}
}
