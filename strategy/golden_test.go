package strategy

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden tables")

// goldenOrders are the orders whose tables are stored; br exists for powers of two only.
var goldenOrders = map[string][]int{
	"rowcyc": {6, 7, 12}, "rowcyc-expanded": {12}, "rev-rowcyc": {8, 10}, "rev-rowcyc-expanded": {12},
	"colcyc": {6, 12}, "colcyc-expanded": {12}, "rev-colcyc": {8}, "rev-colcyc-expanded": {12},
	"br": {8, 16}, "brentluk": {7, 8}, "mmstep": {7, 8}, "roundrobin": {7, 8},
}

func TestGolden(t *testing.T) {
	stored := map[string]bool{}
	for _, name := range Names() {
		for _, n := range goldenOrders[name] {
			file := filepath.Join("golden", fmt.Sprintf("%s_%d.txt", name, n))
			stored[file] = true
			got := mustNew(t, name, n).String()
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s:\n%swant\n%s", file, got, want)
			}
		}
	}
	files, err := filepath.Glob("golden/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !stored[file] {
			t.Errorf("%s belongs to no table", file)
		}
	}
}
