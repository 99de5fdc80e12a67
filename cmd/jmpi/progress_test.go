package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"jmpi/dist"
	"jmpi/dist/jacobi"
)

// A run logs its phases in their order, with their seconds, and the fields of each line in the order of
// their meaning.
func TestLogOfARun(t *testing.T) {
	for _, ranks := range []int{1, 2} {
		dir := t.TempDir()
		gauss(t, 40, 30).write(t, dir+"/a.npy")
		p := startProgram(t, dir, ranks, "svd a.npy --check --precondition qrcp")
		if code := p.wait(t); code != exitDone {
			t.Fatalf("exit code %d: %s", code, p.stderr.String())
		}
		const number = `\d[\d.e+-]*`
		want := ` INF start jmpi=.* mpi=.* ranks=\d devices_per_rank=1 threads_per_rank=\d+ ` +
			`cores_per_rank=\d+ blas=.* go=.*\n` +
			`([^\n]* INF (no GPU|messages|\d+ )[^\n]*\n|[^\n]* WRN [^\n]*\n)*` +
			`[^\n]* INF read seconds=` + number + `\n[^\n]* INF prepared seconds=` + number + `\n` +
			`([^\n]* INF sweep sweep=\d+ rotations=\d+ proper=\d+ active=` + number + ` cosine=` + number +
			` seconds=` + number + ` gflops=` + number + ` bytes_fast=\d+ bytes_slow=\d+\n)+` +
			`[^\n]* INF vectors seconds=` + number + `\n[^\n]* INF written seconds=` + number + `\n` +
			`[^\n]* INF times mpi=` + number + ` devices=` + number + ` reserve=` + number + ` read=` + number +
			` upload=0 compute=` + number + ` download=0 write=` + number + ` sync=` + number + ` publish=` +
			number + `\n` +
			`[^\n]* INF done seconds=` + number + ` sweeps=\d+ converged=true sigma_max=` + number + ` sigma_min=` +
			number + ` results=a.svd\n` +
			`[^\n]* INF checked seconds=` + number + `\n$`
		text := p.stderr.String()
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("on %d ranks:\n%s", ranks, text)
		}
		numbers := regexp.MustCompile(`(active|cosine|seconds|gflops|sigma_m..)=(\S+)`)
		for _, x := range numbers.FindAllStringSubmatch(text, -1) {
			mantissa, _, _ := strings.Cut(x[2], "e")
			if digits := strings.TrimLeft(strings.ReplaceAll(mantissa, ".", ""),
				"0"); len(strings.TrimRight(digits, "0")) > 3 {
				t.Errorf("more than three digits: %s", x[0])
			}
		}
	}
}

// recorded is a progress without a terminal, with what it logs.
func recorded(every time.Duration) (*progress, *lockedBuffer) {
	var log lockedBuffer
	p := newProgress(zerolog.New(inOrder{zerolog.ConsoleWriter{Out: &log, NoColor: true,
		PartsExclude: []string{"time"}}}).Level(zerolog.WarnLevel))
	p.stop() // what it would log by itself
	p.log, p.every = p.log.Level(zerolog.InfoLevel), every
	return p, &log
}

// While nothing else is logged there is a line every so often, which says in which phase the run is and how
// far.
func TestReminders(t *testing.T) {
	p, log := recorded(time.Minute)
	now := time.Now()
	remind := func(after time.Duration, want string) {
		t.Helper()
		was := len(log.String())
		p.remind(now.Add(after))
		if got := log.String()[was:]; !regexp.MustCompile(`^` + want + `$`).MatchString(got) {
			t.Errorf("after %v: %q, want %q", after, got, want)
		}
	}
	const seconds = ` seconds=[\d.e-]+\n`
	remind(59*time.Second, "")
	remind(61*time.Second, "INF running phase=starting"+seconds)
	remind(100*time.Second, "")
	p.read(3000, 3) // this rank reads 1000
	read := p.load(func(dist.Part) error { return nil })
	if err := read(dist.Part{M: 10, N: 25}); err != nil {
		t.Fatal(err)
	}
	remind(130*time.Second, "INF running phase=reading percent=25"+seconds)
	if err := read(dist.Part{Column: 25, M: 10, N: 75}); err != nil {
		t.Fatal(err)
	}
	remind(200*time.Second, "INF running phase=preparing"+seconds)
	p.step(jacobi.Progress{Sweep: 1, Step: 3, Steps: 8})
	remind(300*time.Second, "INF running phase=sweeps sweep=1 step=3 steps=8"+seconds)
	p.sweep(jacobi.SweepInfo{Sweep: 1, Rotations: 9, Proper: 4, Active: 0.75, Cosine: 0.98765,
		Seconds: 1.23456, Flops: 7654321000})
	if !strings.Contains(log.String(),
		"INF sweep sweep=1 rotations=9 proper=4 active=0.75 cosine=0.988 seconds=1.23 gflops=6.2 bytes_fast=0 "+
			"bytes_slow=0\n") {
		t.Errorf("%s", log.String())
	}
	remind(400*time.Second, "INF running phase=sweeps sweep=2 step=0 steps=0"+seconds)
	p.sweep(jacobi.SweepInfo{Sweep: 2, Rotations: 9, Seconds: 1})
	remind(500*time.Second, "INF running phase=vectors"+seconds)
	p.begin(writing)
	remind(600*time.Second, "INF running phase=writing"+seconds)
	p.begin(checking)
	remind(700*time.Second, "INF running phase=checking"+seconds)
	p.end()
	for _, line := range []string{"read", "prepared", "vectors", "written", "checked"} {
		if n := len(regexp.MustCompile(`(?m)^INF `+line+` seconds=`).FindAllString(log.String(), -1)); n != 1 {
			t.Errorf("%d lines %q in\n%s", n, line, log.String())
		}
	}
}

// The goroutine of a run without a terminal logs by itself, and ends.
func TestRemindersComeByThemselves(t *testing.T) {
	p, log := recorded(time.Millisecond)
	p.start(time.Millisecond)
	for limit := time.Now().Add(10 * time.Second); strings.Count(log.String(),
		"running") < 3; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("logs %q", log.String())
		}
	}
	p.stop()
	was := log.String()
	time.Sleep(20 * time.Millisecond)
	if log.String() != was {
		t.Error("it goes on")
	}
}

// The bar never goes back, whatever the sweeps do, and is at the end of each phase where the next one begins.
func TestPartNeverShrinks(t *testing.T) {
	p, _ := recorded(time.Hour)
	last := 0.0
	check := func(what string) {
		t.Helper()
		if x := p.part(); x < last || x > 1 {
			t.Errorf("%s: %g after %g", what, x, last)
		} else {
			last = x
		}
	}
	p.read(100, 1)
	check("begin")
	for sweep := 1; sweep <= 14; sweep++ {
		for step := 1; step <= 4; step++ {
			p.step(jacobi.Progress{Sweep: sweep, Step: step, Steps: 4})
			check("step")
		}
		p.sweep(jacobi.SweepInfo{Sweep: sweep, Rotations: 100, Proper: int64(100 * (sweep % 3)), Seconds: 1})
		check("sweep")
	}
	p.begin(writing)
	check("writing")
	if last < before[writing] {
		t.Errorf("%g when it writes", last)
	}
}

// Members of members do not count, and what is no object has none.
func TestKeys(t *testing.T) {
	for text, want := range map[string]string{
		`{"level":"info","b":1,"a":{"x":[1,{"y":2}]},"c":"\"d\":3"}`: "level b a c",
		`{}`: "", ``: "", `nonsense`: "", `{"a":1,`: "a",
	} {
		if got := strings.Join(keys([]byte(text)), " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	var out bytes.Buffer
	log := zerolog.New(inOrder{zerolog.ConsoleWriter{Out: &out, NoColor: true, PartsExclude: []string{"time"}}})
	log.Info().Int("z", 1).Float64("a", digits(1234.5678)).Float64("m", digits(1.23456e-7)).Str("b",
		"two words").Msg("line")
	if want := "INF line z=1 a=1230 m=1.23e-7 b=\"two words\"\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
