package page

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"jmpi/topology"
)

// parse reads a page strictly enough: what the parser had to repair shows as a difference of the tags.
func parse(t *testing.T, text string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// attribute returns an attribute of a node, "" if it has none.
func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// all lists the elements of a name, of any name if that is "".
func all(root *html.Node, name string) (found []*html.Node) {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && (name == "" || n.Data == name) {
			found = append(found, n)
		}
	}
	return found
}

// textOf is the text of a node, blanks joined.
func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// byID returns the element with an identifier.
func byID(root *html.Node, id string) *html.Node {
	for _, n := range all(root, "") {
		if attribute(n, "id") == id {
			return n
		}
	}
	return nil
}

// mistaken is what no page may have: numbers that are none, what templates and formats say of mistakes, and
// colors that the style sheet does not choose.
var mistaken = regexp.MustCompile(`NaN|[+-]Inf\b|%!|<no value>|ZgotmplZ|#0[0-9a-f]{5}|#101010|#111111`)

// Every page is whole HTML, needs nothing else, and has words for every figure.
func TestStructure(t *testing.T) {
	for name, s := range samples() {
		t.Run(name, func(t *testing.T) {
			page := s.page(t)
			root := parse(t, page)
			closed(t, page)
			ids := map[string]bool{}
			for _, n := range all(root, "") {
				for _, a := range n.Attr {
					switch {
					case a.Key == "src", a.Key == "href", strings.HasPrefix(a.Key, "on"), a.Key == "srcset", a.Key == "data":
						t.Errorf("%s has %s=%q", n.Data, a.Key, a.Val)
					case strings.Contains(a.Val, "url("):
						t.Errorf("%s has %s=%q", n.Data, a.Key, a.Val)
					case a.Key == "id" && ids[a.Val]:
						t.Errorf("two elements are %q", a.Val)
					case a.Key == "id":
						ids[a.Val] = true
					}
				}
				switch n.Data {
				case "script", "link", "img", "iframe", "object", "embed", "image", "use", "base", "form":
					t.Errorf("there is a %s", n.Data)
				case "style":
					if style := textOf(n); strings.Contains(style, "url(") || strings.Contains(style, "@import") {
						t.Error("the style sheet loads something")
					}
				}
			}
			for _, svg := range all(root, "svg") {
				alt := attribute(svg, "aria-label")
				if id := attribute(svg, "aria-labelledby"); id != "" && byID(root, id) != nil {
					alt = textOf(byID(root, id))
				}
				if len(alt) < 20 || attribute(svg, "role") != "img" || attribute(svg, "viewBox") == "" {
					t.Errorf("a figure has no words, role or size: %q %v", alt, svg.Attr)
				}
			}
			if n := len(all(root, "h1")); n != 1 {
				t.Errorf("%d main headings", n)
			}
			if head := textOf(all(root, "head")[0]); !strings.Contains(page, `name="viewport"`) || head == "" {
				t.Error("no viewport or title")
			}
			if attribute(all(root, "html")[0], "lang") != "en" {
				t.Error("no language")
			}
			if wrong := mistaken.FindString(page); wrong != "" {
				t.Errorf("there is %q in the page", wrong)
			}
		})
	}
}

// closed tells whether every element is closed where it must be, which a parser of HTML would repair.
func closed(t *testing.T, page string) {
	t.Helper()
	single := map[string]bool{"meta": true, "br": true, "hr": true}
	var open []string
	tokens := html.NewTokenizer(strings.NewReader(page))
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			if err := tokens.Err(); err != io.EOF || len(open) > 0 {
				t.Errorf("%v; not closed: %v", err, open)
			}
			return
		case html.StartTagToken:
			if name := tokens.Token().Data; !single[name] {
				open = append(open, name)
			}
		case html.EndTagToken:
			name := tokens.Token().Data
			if len(open) == 0 || open[len(open)-1] != name {
				t.Fatalf("</%s> within %v", name, open)
			}
			open = open[:len(open)-1]
		}
	}
}

// The page has the sections for which there is something to show, and the numbers of info.json.
func TestSections(t *testing.T) {
	for name, want := range map[string]string{
		"four devices":    "choices convergence values time map traffic memory",
		"one device":      "choices convergence values time traffic memory",
		"empty":           "memory",
		"earlier version": "choices convergence values time traffic memory",
		"many ranks":      "choices convergence values time traffic memory",
		"refined":         "choices convergence values time map traffic memory",
	} {
		var got []string
		for _, section := range all(parse(t, samples()[name].page(t)), "section") {
			got = append(got, attribute(section, "id"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
	}
	root := parse(t, samples()["four devices"].page(t))
	rows := all(all(byID(root, "convergence"), "tbody")[0], "tr")
	if len(rows) != 8 || textOf(rows[1]) != "2 float64 928 317 215 443 100 % 0.464 1.5 s 20" {
		t.Errorf("%d sweeps, the second %q", len(rows), textOf(rows[1]))
	}
	for id, words := range map[string][]string{
		"convergence": {"First sweep: 2000000, of these proper 1000000",
			"Largest cosine by sweep, on a logarithmic scale, from 1 to 4.64e-17."},
		"values":  {"500 singular values in their order", "Largest: 1.", "Smallest: 1e-10."},
		"traffic": {"on one host: 40 MiB", "between hosts: 16 MiB"},
		"memory":  {"peak, at most 303 MiB", "expected, at most 350 MiB"},
		"time":    {"sweeps: compute 7 s", "everything else 2.2 s", "postmultiply 2 s 2.75 s 4 s"},
	} {
		section := textOf(byID(root, id))
		for _, w := range words {
			if !strings.Contains(section, w) {
				t.Errorf("%s does not say %q but %q", id, w, section)
			}
		}
	}
	if page := samples()["not converged"].page(t); !strings.Contains(page, "Not converged in 3 sweeps") {
		t.Error("the page does not say that the run has not converged")
	}
	const tooSmall = "2 columns and 1 row are smaller than 1e-286 times the largest"
	for _, name := range []string{"one device", "out of range"} {
		if told := strings.Contains(samples()[name].page(t), tooSmall); told != (name == "out of range") {
			t.Errorf("%s: the page says that columns are out of range: %t", name, told)
		}
	}
	if page := samples()["many ranks"].page(t); !strings.Contains(page, "48 of the 100 ranks are shown.") {
		t.Error("the page does not say that it leaves ranks out")
	}
	const some = "The first 10 of 47 macro steps are drawn."
	if page := samples()["many devices"].page(t); !strings.Contains(page, some) {
		t.Error("the page does not say that it leaves macro steps out")
	}
	if page := samples()["earlier version"].page(t); strings.Contains(page, "Largest cosine") {
		t.Error("the page has cosines that info.json does not tell")
	}
	const rest = "Largest cosine by sweep, on a logarithmic scale, from 0.001 to 4.64e-06."
	if page := samples()["gone on"].page(t); !strings.Contains(page, rest) {
		t.Error("the page does not have the cosines that info.json tells of the last sweeps")
	}
	refined := textOf(byID(parse(t, samples()["refined"].page(t)), "convergence"))
	for _, want := range []string{"pass 2 50 % 1e-06 0.2 s",
		"Largest cosine by look at all columns, on a logarithmic scale, from 1e-06 to 3e-15."} {
		if !strings.Contains(refined, want) {
			t.Errorf("no %q in %q", want, refined)
		}
	}
}

// The map shows the pairs of every macro step at their devices, and an arc of the right kind for each move.
func TestMap(t *testing.T) {
	s := samples()["four devices"]
	info, root := s.info(t), parse(t, s.page(t))
	panels := all(byID(root, "map"), "svg")[:len(info.Plan)]
	slow := 0
	for i, p := range panels {
		step, err := topology.ParseStep(info.Plan[i].Pairs, info.Plan[i].Moves)
		if err != nil {
			t.Fatal(err)
		}
		device, got := "", map[string]string{}
		for _, n := range all(p, "text") {
			if attribute(n, "class") == "device" {
				device = textOf(n)
			} else {
				got[device] += textOf(n) + " "
			}
		}
		for k, pair := range step.Pairs {
			if want := fmt.Sprintf("%d %d ", pair[0]+1, pair[1]+1); got[fmt.Sprint(step.Device[k])] != want {
				t.Errorf("step %d: device %d has %q, want %q", i+1, step.Device[k], got[fmt.Sprint(step.Device[k])], want)
			}
		}
		count := map[string]int{}
		for _, n := range all(p, "") {
			count[attribute(n, "class")]++
		}
		for _, m := range step.Moves {
			if m.Slow {
				slow++
				count["arc slow"]--
			} else {
				count["arc fast"]--
			}
		}
		if count["arc slow"] != 0 || count["arc fast"] != 0 || count["leaves"] != len(step.Moves) ||
			count["group"] != 2 {
			t.Errorf("step %d: %v too many", i+1, count)
		}
	}
	if slow == 0 {
		t.Error("no slow move in the sample")
	}
}

func TestRefusals(t *testing.T) {
	s := samples()["four devices"]
	broken := func(name string, change func(string) string) string {
		dir := s.write(t)
		damage(t, filepath.Join(dir, name), change)
		return dir
	}
	replaced := func(old, new string) func(string) string {
		return func(text string) string { return strings.Replace(text, old, new, 1) }
	}
	for dir, want := range map[string]string{
		missing(t):  "there is no info.json",
		t.TempDir(): "there is no info.json",
		broken("info.json", replaced(`"jmpi": "0.1.0"`, `"x": "y"`)):      "was not written by jmpi",
		broken("info.json", replaced(`"sweep": [`, `"sweep": 3, "x": [`)): "is damaged",
		broken("info.json", replaced("1-8@", "1-8@9")):                    "there is no device",
		broken("info.json", replaced("1-8@", "1+8@")):                     "is not a pair on a device",
		broken("info.json", replaced(`"k": 500`, `"k": 499`)):             "they are not of one run",
		broken("S.npy", func(x string) string { return x[:200] }):         "S.npy",
	} {
		var b strings.Builder
		if err := Write(&b, dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
