package page

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	"jmpi/topology"
)

var (
	//go:embed page.html
	markup string
	//go:embed style.css
	style string
)

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"seconds": seconds, "digits": digits, "size": size, "whole": whole, "percent": percent,
	"next": func(i int) int { return i + 1 },
}).Parse(markup))

// content is what the template shows.
type content struct {
	*run
	Style   template.CSS
	Name    string
	Verdict string
	Good    bool
	Facts   []fact
	Choices []decided
	Figures figures
	Phases  []phaseRow
	Panels  []panel
	Steps   int // macro steps of a sweep
}

// figures are those of the sections.
type figures struct{ Convergence, Values, Times, Moves, Traffic, Memory []figure }

// fact is a line of the table on top.
type fact struct{ Name, Value string }

// decided is a choice that a run has made, or was told.
type decided struct {
	What string
	choice
}

// phaseRow is a phase of a run over all ranks.
type phaseRow struct {
	Name           string
	Min, Mean, Max float64
}

// Write writes the page of the results in folder dir.
func Write(w io.Writer, dir string) error {
	r, err := open(dir)
	if err != nil {
		return err
	}
	c := content{run: r, Style: template.CSS(style), Name: r.name(), Facts: r.facts(), Choices: r.choices(),
		Phases: r.phaseRows()}
	c.Verdict, c.Good = r.verdict()
	d := &drawing{run: r}
	steps, err := d.steps()
	if err != nil {
		return err
	}
	c.Panels, c.Steps = d.panels(steps), len(steps)
	if err := c.Figures.draw(d, steps); err != nil {
		return err
	}
	if err := pageTemplate.Execute(w, c); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

// draw draws all figures for which there is something to show.
func (f *figures) draw(d *drawing, steps []topology.Step) (err error) {
	add := func(list *[]figure, draw func() (figure, error)) {
		if err != nil {
			return
		}
		var one figure
		if one, err = draw(); err == nil && one.Title != "" {
			*list = append(*list, one)
		}
	}
	if len(d.Sweep) > 0 {
		add(&f.Convergence, d.rotations)
		add(&f.Convergence, d.active)
		add(&f.Convergence, d.largest)
		add(&f.Convergence, d.cosines)
		add(&f.Traffic, d.traffic)
	}
	if len(d.sigma) > 0 {
		add(&f.Values, d.values)
	}
	add(&f.Times, d.times)
	add(&f.Moves, func() (figure, error) { return d.moves(steps) })
	add(&f.Memory, d.ranksMemory)
	add(&f.Memory, d.gpusMemory)
	return err
}

// verdict tells how the run ended.
func (r *run) verdict() (text string, good bool) {
	switch {
	case !r.Converged:
		return fmt.Sprintf("Not converged in %s. The results are not a decomposition: raise --max-sweeps.",
			count(r.Sweeps, "sweep", "sweeps")), false
	case r.Sweeps == 0:
		return "The matrix has no elements. There was nothing to do.", true
	}
	return fmt.Sprintf("Converged in %s and %s.", count(r.Sweeps, "sweep", "sweeps"), seconds(r.Seconds)), true
}

// facts are what the reader should know first.
func (r *run) facts() (f []fact) {
	add := func(name, format string, a ...any) { f = append(f, fact{name, fmt.Sprintf(format, a...)}) }
	kind := "singular value decomposition"
	if r.Signature != nil {
		kind = fmt.Sprintf("hyperbolic singular value decomposition, %s of the %s signs are +1",
			whole(r.Signature.Positive), whole(r.Shape[1]))
	}
	add("What", "%s", kind)
	add("Matrix", "%s × %s, %s", whole(r.Shape[0]), whole(r.Shape[1]), r.Dtype)
	if len(r.sigma) > 0 {
		add("Singular values", "%s, from %s down to %s", whole(r.K), digits(slices.Max(r.sigma)),
			digits(slices.Min(r.sigma)))
		add("Numerical rank", "%s, by %s: %s", whole(r.Rank.Value), r.Rank.Of, digits(r.Rank.Tol))
	}
	if o := r.OutOfRange; o.Columns+o.Rows > 0 {
		add("Out of range", "%s and %s are smaller than 1e-286 times the largest; singular values of their size "+
			"may have no correct digit", count(o.Columns, "column", "columns"), count(o.Rows, "row", "rows"))
	}
	if n := len(r.Devices); n > 0 {
		add("Ran on", "%s, %s, %s: %s", count(len(r.hosts()), "host", "hosts"), count(r.Ranks, "rank", "ranks"),
			count(n, "device", "devices"), r.kinds())
	}
	if begin, err := time.Parse(time.RFC3339, r.Start); err == nil {
		add("Started", "%s", begin.Format("2 January 2006, 15:04:05 -07:00"))
	}
	add("Time", "%s from start to end; %s for the decomposition", seconds(r.WallSeconds), seconds(r.Seconds))
	for _, name := range []string{"jmpi", "go", "mpi", "blas", "cuda"} {
		if text := r.Versions[name]; text != "" {
			add("Version of "+name, "%s", text)
		}
	}
	return f
}

// choices are what was used, and why.
func (r *run) choices() (c []decided) {
	for _, one := range []decided{{"Preconditioner", r.Precondition}, {"Precision", r.Precision}, {"V", r.V}} {
		if one.Used != "" {
			c = append(c, one)
		}
	}
	if r.Sweeps > 0 {
		c = append(c, decided{"Pivot strategy", choice{r.Strategy, fmt.Sprintf("%s scheme, variant %s; %s of %d "+
			"columns", r.Scheme, r.Variant, count(r.FineBlockColumns, "block-column", "block-columns"), r.Block)}})
	}
	if r.Transport.Why != "" {
		how := "through the memory of the hosts"
		if r.Transport.Direct {
			how = "direct"
		}
		c = append(c, decided{"Messages", choice{how, r.Transport.Why}})
	}
	return c
}

// phaseRows are the phases with their time over all ranks, the longest first.
func (r *run) phaseRows() (rows []phaseRow) {
	all := r.phases()
	seen := map[string]int{}
	for _, rank := range all {
		for name := range rank {
			seen[name]++
		}
	}
	for name := range seen {
		row := phaseRow{Name: name, Min: all[0][name], Max: all[0][name]}
		for _, rank := range all {
			row.Min, row.Max = min(row.Min, rank[name]), max(row.Max, rank[name])
			row.Mean += rank[name] / float64(len(all))
		}
		if row.Max >= 1e-3*r.WallSeconds {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b phaseRow) int {
		return cmp.Or(cmp.Compare(b.Mean, a.Mean), cmp.Compare(a.Name, b.Name))
	})
	return rows
}
