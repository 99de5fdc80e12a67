package results

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// hidden is the name of a hidden folder of out.
func hidden(boot, suffix string) string {
	return fmt.Sprintf(".out.node-7-%s-123-18c3f2a9d01b44e0%s", boot, suffix)
}

func TestRecover(t *testing.T) {
	const elsewhere = "0123456789ab"
	here := boot()
	temp, old, other := hidden(here, ".tmp/"), hidden(here, ".old/"), hidden(elsewhere, ".tmp/S.npy")
	for _, c := range []struct {
		name     string
		before   string
		age      time.Duration
		after    string
		restored bool
		left     string
	}{
		{"nothing", "out/S.npy", 0, "out/S.npy", false, ""},
		{"dead", temp + "S.npy", 0, "./", false, ""},
		{"dead and empty", temp, 0, "./", false, ""},
		{"dead, replaced", "out/S.npy " + old + "S.npy", 0, "out/S.npy", false, ""},
		{"killed between two renames", old + "S.npy " + temp + "U.npy", 0, "out/S.npy", true, ""},
		{"two replaced", old + "S.npy .out.a-" + here + "-1-19c3f2a9d01b44e0.old/U.npy", 0,
			"out/U.npy", true, ""},
		{"of another host", other, Stale - time.Hour, other, false, "made on node-7"},
		{"of another host, old", other, Stale + time.Hour, "./", false, ""},
		{"of another host, between two renames", hidden(elsewhere, ".old/S.npy"), 0, "out/S.npy", true, ""},
		{"of another host, replaced", "out/S.npy " + hidden(elsewhere, ".old/S.npy"), 0,
			hidden(elsewhere, ".old/S.npy") + " out/S.npy", false, "made on node-7"},
		{"of an unknown kernel", hidden(unknownBoot, ".tmp/S.npy"), 0,
			hidden(unknownBoot, ".tmp/S.npy"), false, "made on"},
		{"a user's file", temp + "S.npy " + temp + "notes", Stale * 2,
			temp + "S.npy " + temp + "notes", false, "it also holds notes"},
		{"of another folder",
			".in.a-" + here + "-1-1.tmp/S.npy .out.x.a-" + here + "-1-1.tmp/S.npy", 2 * Stale,
			".in.a-" + here + "-1-1.tmp/S.npy .out.x.a-" + here + "-1-1.tmp/S.npy", false, ""},
		{"no folders of ours",
			".out.tmp/S.npy .out.backup.tmp/S.npy " + hidden(here, ".bak/S.npy"), 2 * Stale,
			".out.backup.tmp/S.npy " + hidden(here, ".bak/S.npy") + " .out.tmp/S.npy", false, ""},
		{"a file with such a name", hidden(here, ".tmp"), 2 * Stale, hidden(here, ".tmp"), false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			fill(t, root, strings.Fields(c.before)...)
			entries, err := os.ReadDir(root)
			if err != nil {
				t.Fatal(err)
			}
			at := time.Now().Add(-c.age)
			for _, e := range entries {
				if err := os.Chtimes(root+"/"+e.Name(), at, at); err != nil {
					t.Fatal(err)
				}
			}
			r, err := Target{Dir: root + "/out"}.Recover()
			if err != nil || r.Restored != c.restored {
				t.Errorf("%+v, error %v", r, err)
			}
			left := strings.Join(r.Left, ", ")
			if (c.left == "") != (left == "") || !strings.Contains(left, c.left) {
				t.Errorf("left: %q, expected %q", left, c.left)
			}
			if got := tree(t, root); got != c.after {
				t.Errorf("%q, expected %q", got, c.after)
			}
		})
	}
}

// TestRecoverSparesLiving: a run that holds its folder keeps it, however old it is, also in the middle of two
// renames.
func TestRecoverSparesLiving(t *testing.T) {
	root := t.TempDir()
	fill(t, root, "out/S.npy", "out/info.json")
	target := Target{Dir: root + "/out", Force: true}
	f := finished(t, root+"/out", true)
	f.exchange = noExchange
	seen := 0
	f.Step = func(string) {
		seen++
		long := time.Now().Add(-2 * Stale)
		if err := os.Chtimes(f.temp, long, long); err != nil && seen < 5 {
			t.Error(err)
		}
		before := tree(t, root)
		r, err := target.Recover()
		if err != nil || r.Restored {
			t.Errorf("%+v, error %v", r, err)
		}
		if after := tree(t, root); after != before && seen < 5 {
			t.Errorf("step %d: %q is left of %q", seen, after, before)
		}
	}
	if err := f.Publish(); err != nil {
		t.Error(err)
	}
	if got := tree(t, root); got != "out/S.npy out/info.json" || seen != 6 {
		t.Errorf("%q after %d steps", got, seen)
	}
}

// TestRecoverWhileOthersStart: runs that start and runs that clear up do not harm each other.
func TestRecoverWhileOthersStart(t *testing.T) {
	root := t.TempDir()
	var starting sync.WaitGroup
	for range 8 {
		starting.Go(func() {
			for range 100 {
				f, err := NewFolder(Target{Dir: root + "/out"}, Tag())
				if err == nil {
					err = f.Create()
				}
				if err == nil {
					err = f.Visible()
				}
				if err != nil {
					t.Error(err)
					return
				}
				if err := f.Discard(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	stop := make(chan struct{})
	var clearing sync.WaitGroup
	for range 2 {
		clearing.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := (Target{Dir: root + "/out"}).Recover(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	starting.Wait()
	close(stop)
	clearing.Wait()
}

func TestTag(t *testing.T) {
	long := strings.Repeat("x", 32)
	for host, want := range map[string]string{
		"node-7.cluster.org": "node-7", "a b/ü": "a_b__", "": "", long + "y": long,
	} {
		if got := label(host); got != want {
			t.Errorf("%q: label %q, expected %q", host, got, want)
		}
	}
	owner := tagPattern.FindStringSubmatch(Tag())
	if owner == nil || owner[2] != boot() || boot() == unknownBoot {
		t.Errorf("%s gives %v", Tag(), owner)
	}
}
