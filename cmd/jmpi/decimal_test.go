package main

import "testing"

// Every flag that is a number refuses one that is not 0 and would become 0, and takes those that float64 has.
func TestNumbersThatBecomeZero(t *testing.T) {
	seen := 0
	for _, cmd := range allCommands(newRootCommand()) {
		for _, name := range flagNames(cmd) {
			f := cmd.Flags().Lookup(name)
			if f == nil || f.Value.Type() != "float64" {
				continue
			}
			seen++
			for text, ok := range map[string]bool{"1e-400": false, "-1e-400": false, "0.002e-999": false,
				"0x1p-2000": false, "0": true, "0.000e-5": true, "-0e9": true, "5e-324": true, "0.25": true,
				"1e400": false, "x": false, "": false} {
				if err := f.Value.Set(text); (err == nil) != ok {
					t.Errorf("%s --%s %s: error %v", cmd.Name(), name, text, err)
				}
			}
		}
	}
	if seen < 6 {
		t.Errorf("%d flags that are numbers", seen)
	}
}
