package page

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// browser runs Chromium without a window, and returns what it prints on stdout and stderr.
func browser(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium here: scripts/setup.sh browser installs it")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	home := t.TempDir()
	cmd := exec.CommandContext(ctx, path, append([]string{"--headless", "--no-sandbox", "--disable-gpu",
		"--disable-dev-shm-usage", "--enable-logging=stderr", "--user-data-dir=" + home}, args...)...)
	var out, logged strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &logged
	cmd.Env = append(os.Environ(), "HOME="+home)
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", path, err, logged.String())
	}
	return out.String(), logged.String()
}

// frame shows a page in a window of some width; probe measures all frames.
const (
	frame = `<iframe style="border:0;width:%dpx;height:800px" srcdoc="%s"></iframe>`
	probe = `<pre id="out"></pre>
<script>
function measure(f) {
	const d = f.contentDocument, root = d.documentElement, look = f.contentWindow.getComputedStyle;
	const out = {width: root.clientWidth, scroll: root.scrollWidth, wide: [], outside: [], small: []};
	out.figures = 0;
	for (const e of d.querySelectorAll("body *")) {
		const r = e.getBoundingClientRect();
		if (r.width > 0 && r.right > out.width + 1 && !e.closest("svg"))
			out.wide.push(e.tagName + " " + e.textContent.slice(0, 40));
	}
	for (const svg of d.querySelectorAll("svg")) {
		const s = svg.getBoundingClientRect();
		if (s.width > 50 && s.height > 20) out.figures++;
		for (const e of svg.querySelectorAll("text")) {
			const r = e.getBoundingClientRect();
			if (r.left < s.left - 1 || r.right > s.right + 1 || r.top < s.top - 1 || r.bottom > s.bottom + 1)
				out.outside.push(e.textContent);
			if (r.height < 8) out.small.push(e.textContent + " " + r.height);
		}
	}
	const linear = x => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
	const luminance = c => c.match(/[\d.]+/g).slice(0, 3).map(linear)
		.reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
	const style = look(d.body), a = luminance(style.color), b = luminance(style.backgroundColor);
	out.paper = b;
	out.contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
	const plotted = d.querySelector("figure svg text");
	out.ink = plotted ? look(plotted).fill == style.color : true;
	return out;
}
window.onload = function () {
	const all = [...document.querySelectorAll("iframe")].map(measure);
	document.getElementById("out").textContent = "<<" + JSON.stringify(all) + ">>";
};
</script>`
)

// measured is what the probe finds in a frame.
type measured struct {
	Width, Scroll        float64
	Wide, Outside, Small []string // what goes beyond the window; texts beyond their figures, or too small
	Figures              int
	Paper, Contrast      float64
	Ink                  bool // the texts of figures have the color of the text
}

// In a real browser every page fits a phone and a desk, is dark where the reader wants that, needs nothing
// that it must not have, and has all its labels in sight.
func TestBrowser(t *testing.T) {
	pages := map[string]string{}
	for name, s := range samples() {
		pages[name] = s.page(t)
	}
	names := slices.Sorted(maps.Keys(pages))
	for dark, widths := range map[bool][]int{false: {320, 768}, true: {360, 1280}} {
		var frames strings.Builder
		for _, name := range names {
			for _, width := range widths {
				fmt.Fprintf(&frames, frame, width, html.EscapeString(pages[name]))
			}
		}
		for i, m := range measure(t, frames.String(), dark) {
			name := names[i/len(widths)]
			what := fmt.Sprintf("%s, %d wide", name, widths[i%len(widths)])
			m.judge(t, what, strings.Count(pages[name], "<svg"), dark)
		}
	}
}

// judge tells what is wrong with a page that has so many figures.
func (m measured) judge(t *testing.T, what string, figures int, dark bool) {
	t.Helper()
	if m.Scroll > m.Width || len(m.Wide) > 0 {
		t.Errorf("%s: the page is %g wide in a window of %g: %q", what, m.Scroll, m.Width, m.Wide)
	}
	if len(m.Outside) > 0 || len(m.Small) > 0 {
		t.Errorf("%s: texts out of their figures: %q, too small: %q", what, m.Outside, m.Small)
	}
	if m.Figures != figures {
		t.Errorf("%s: %d figures of %d have a size", what, m.Figures, figures)
	}
	if m.Contrast < 7 || (m.Paper < 0.2) != dark || !m.Ink {
		t.Errorf("%s, dark %v: contrast %g, luminance of the paper %g, figures in the color of the text: %v", what,
			dark, m.Contrast, m.Paper, m.Ink)
	}
}

// measure opens frames in a browser.
func measure(t *testing.T, frames string, dark bool) (m []measured) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "probe.html")
	text := "<!DOCTYPE html><meta charset=\"utf-8\"><body>" + frames + probe
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	scheme := 1
	if dark {
		scheme = 0
	}
	dom, logged := browser(t, "--window-size=1400,900", "--hide-scrollbars",
		fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme), "--virtual-time-budget=20000",
		"--dump-dom", "file://"+path)
	if line := regexp.MustCompile(`.*CONSOLE.*`).FindString(logged); line != "" {
		t.Errorf("the browser says: %s", line)
	}
	found := regexp.MustCompile(`(?s)&lt;&lt;(\[.*\])&gt;&gt;`).FindStringSubmatch(dom)
	if found == nil {
		t.Fatalf("the browser has not measured the pages: %.2000s", logged)
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(found[1])), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// The page can be printed.
func TestPrinted(t *testing.T) {
	dir := t.TempDir()
	path, pdf := filepath.Join(dir, "page.html"), filepath.Join(dir, "page.pdf")
	if err := os.WriteFile(path, []byte(samples()["four devices"].page(t)), 0o666); err != nil {
		t.Fatal(err)
	}
	browser(t, "--no-pdf-header-footer", "--print-to-pdf="+pdf, "file://"+path)
	text, err := os.ReadFile(pdf)
	if err != nil {
		t.Fatal(err)
	}
	pages := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(text, -1))
	if !strings.HasPrefix(string(text), "%PDF-") || pages < 2 || pages > 8 {
		t.Errorf("%d bytes, %d pages", len(text), pages)
	}
}
