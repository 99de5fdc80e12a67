package main

import (
	"bytes"
	"strings"
	"testing"

	"jmpi/strategy"
)

// executeStrategy runs a command line; it returns stdout, the exit code and the error.
func executeStrategy(args ...string) (string, int, error) {
	var out bytes.Buffer
	cmd := newStrategyCommand()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	err := cmd.Execute()
	return out.String(), exitCode(err), err
}

func TestStrategyPrintsSteps(t *testing.T) {
	for _, c := range []struct{ name, n, want string }{
		{"rowcyc", "6", "1-2 3-4 5-6\n1-3 2-5 4-6\n1-4 2-6 3-5\n1-5 2-4 3-6\n1-6 2-3 4-5\n"},
		{"br", "4", "1-3 2-4\n1-4 2-3\n1-2 3-4\n"},
		{"roundrobin", "1", ""},
	} {
		out, code, err := executeStrategy(c.name, c.n)
		if out != c.want || code != exitDone {
			t.Errorf("strategy %s %s: exit code %d, %v, prints\n%s", c.name, c.n, code, err, out)
		}
	}
}

func TestStrategyUsage(t *testing.T) {
	every := strings.Join(strategy.Names(), " ")
	for _, c := range []struct {
		args []string
		say  string
	}{
		{nil, "needs NAME and N"},
		{[]string{"rowcyc"}, "needs N"},
		{[]string{"nonsense", "8"}, every},
		{[]string{"rowcyc", "eight"}, "strategy rowcyc eight: the order must be a whole number"},
		{[]string{"rowcyc", "0"}, "1 to"},
		{[]string{"br", "12"}, "power of two"},
		{[]string{"rowcyc", "8", "9"}, "9 is one argument too many"},
	} {
		out, code, err := executeStrategy(c.args...)
		if code != exitUsage || out != "" || err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("strategy %q: exit code %d, prints %q, says %v; want %q", c.args, code, out, err, c.say)
		}
	}
}

func TestStrategyIsACommand(t *testing.T) {
	if code, out := output(t, "strategy", "rev-rowcyc", "6"); code != exitDone ||
		!strings.HasPrefix(out, "4-5 2-3 1-6\n") {
		t.Errorf("jmpi strategy: exit code %d, prints %q", code, out)
	}
}
