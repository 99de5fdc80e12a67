package dist

import (
	"errors"
	"fmt"
	"time"

	"jmpi/dist/checkpoint"
	"jmpi/dist/comm"
	"jmpi/dist/matrix"
	"jmpi/dist/refine"
)

// stage makes something, or takes what the checkpoint has of it: describe describes it. make tells whether it
// is to be kept. The states of the Jacobi method before are not needed any more then. It is collective.
func stage(t Task, kind string, describe func(*checkpoint.Codec), make func() (bool, error)) error {
	_, err := stageFound(t, kind, describe, make)
	return err
}

// stageFound is stage, and tells whether the checkpoint had it.
func stageFound(t Task, kind string, describe func(*checkpoint.Codec), make func() (bool, error)) (
	found bool, err error) {
	s, err := t.Journal.Next(kind)
	if err != nil {
		return false, err
	}
	if s.Found() {
		return true, s.Load(describe)
	}
	t.Journal.Enter(s)
	kept, err := make()
	t.Journal.Leave(s)
	if err != nil || !kept {
		return false, err
	}
	return false, s.Put(describe)
}

// longStage is stage for what takes long. A checkpoint is written after it, and the run stops if that was
// asked for; over says what is over then. It is collective.
func longStage(t Task, kind, over string, describe func(*checkpoint.Codec), make func() (bool, error)) error {
	kept := false
	found, err := stageFound(t, kind, describe, func() (_ bool, err error) {
		kept, err = make()
		return kept, err
	})
	if err != nil || found || !kept {
		return err
	}
	return keep(t, over)
}

// keep writes a checkpoint, and stops the run if that was asked for. It is collective.
func keep(t Task, over string) error {
	if t.Journal == nil {
		return nil
	}
	begin := time.Now()
	err := t.Journal.Save(!t.Aside)
	if t.Journal.Held(begin); err != nil {
		return err
	}
	return t.Journal.Check(over)
}

// aside tells whether there is room for a copy of the states that are kept. It is collective.
func (s site) aside(t Task, p prepared) (bool, error) {
	if t.Journal == nil {
		return false, nil
	}
	w := p.ways(t)
	w.aside = true
	err := s.fits(t, w, true)
	var known *comm.Failure
	if errors.As(err, &known) {
		t.Log.Warn().Str("why", known.Text).Msg("there is no room for a copy of what a checkpoint gets: the " +
			"devices wait while it is written")
		return false, nil
	}
	return err == nil, err
}

// keptPrepared is what a checkpoint has of X, besides matrices.
type keptPrepared struct {
	Exponent, Positive int
	Total              total
	OutOfRange         OutOfRange
	Rising             bool
	Method             keptMethod
	Rank               Rank
	Unranked           bool
	Read               bool // X is what was read, and is read again
	Slabs              bool // of a tall matrix, which are read again
	Steps              []string
	Deflated           bool
}

// keptMethod is a method.
type keptMethod struct {
	Precondition                       Preconditioner
	BySVD, Graded, Decaying, Unpivoted bool
	Turned                             bool
	V                                  RightVectors
	Reread, Ladder                     bool
	Reasons                            [3]string
}

// kept returns what a checkpoint has of it.
func (m method) kept() keptMethod {
	return keptMethod{m.precondition, m.bySVD, m.graded, m.decaying, m.unpivoted, m.turned, m.v, m.reread,
		m.ladder, [3]string{m.reason.precondition, m.reason.v, m.reason.precision}}
}

// method is the inverse of kept.
func (k keptMethod) method() method {
	return method{k.Precondition, k.BySVD, k.Graded, k.Decaying, k.Unpivoted, k.Turned, k.V, k.Reread, k.Ladder,
		reasons{k.Reasons[0], k.Reasons[1], k.Reasons[2]}}
}

// describe describes X, and all that is needed besides. What follows from the input in a short time is not
// kept: the matrix as it was read, and the slabs of a tall one.
func (p *prepared) describe(c *checkpoint.Codec, s site, t Task) {
	k := keptPrepared{Exponent: p.exponent, Total: p.total, OutOfRange: p.outOfRange, Positive: p.positive,
		Rising: p.rising, Method: p.method.kept(), Rank: p.rank, Unranked: p.unranked, Read: len(p.steps) == 0,
		Slabs: p.slabs != nil, Deflated: p.deflated != nil}
	for _, x := range p.steps {
		k.Steps = append(k.Steps, nameOf(x))
	}
	checkpoint.Fact(c, "prepared", &k)
	if c.Loading() && c.Err() == nil {
		c.Fail(p.begin(s, t, k))
	}
	checkpoint.Vector(c, "probe", (*[]float64)(&p.probe))
	if c.Err() != nil {
		return
	}
	if !k.Read {
		matrix.Describe(c, s.where, "x", &p.x)
	}
	if !k.Method.Ladder { // otherwise it is the transpose of X
		matrix.Describe(c, s.where, "kept", &p.kept)
	}
	if p.deflated != nil {
		p.deflated.describe(c, s.where)
	}
	for i := range p.steps {
		p.describeStep(c, s.where, fmt.Sprintf("step%d", i+1), &p.steps[i])
	}
}

// begin fills in what a checkpoint has of X besides matrices, and reads what it has not. It is collective.
func (p *prepared) begin(s site, t Task, k keptPrepared) error {
	*p = prepared{origin: origin{m: t.M, n: t.N, signature: partition(t.N, t.Signs), exponent: k.Exponent,
		total: k.Total, outOfRange: k.OutOfRange},
		positive: k.Positive, rising: k.Rising, needs: t.needs(), method: k.Method.method(), rank: k.Rank,
		unranked: k.Unranked}
	if err := s.fits(t, p.ways(t), false); err != nil {
		return err
	}
	p.began = time.Now()
	if k.Read || k.Slabs {
		in, err := read(s, t)
		if err != nil {
			return err
		}
		if in.exponent != k.Exponent || (in.slabs != nil) != k.Slabs {
			return errors.New("the matrix has changed")
		}
		p.origin, p.x = in.origin, in.x
		p.total = k.Total
	}
	switch {
	case k.Read:
		var err error
		if p.grading, err = matrix.Measure(p.x); err != nil {
			return err
		}
	case p.x != nil:
		p.x.Free()
	}
	if k.Deflated {
		p.deflated = &deflation{}
	}
	for _, name := range k.Steps {
		x := stepOf(name, p.deflated)
		if x == nil {
			return fmt.Errorf("there is no step %q", name)
		}
		p.steps = append(p.steps, x)
	}
	return nil
}

// The names of the steps.
const (
	rowSortName, leftName, columnsName, rightName = "row sort", "left factor", "column order", "right factor"
	transposedName, deflationName, nullName       = "transposition", "deflation", "null signs"
)

// nameOf returns the name of a step.
func nameOf(x step) string {
	switch x.(type) {
	case rowSort:
		return rowSortName
	case leftFactor:
		return leftName
	case columnOrder:
		return columnsName
	case rightFactor:
		return rightName
	case transposition:
		return transposedName
	case *deflation:
		return deflationName
	case nullSigns:
		return nullName
	}
	return ""
}

// stepOf returns a step of this name, which has nothing yet; nil for no step.
func stepOf(name string, f *deflation) step {
	switch {
	case name == rowSortName:
		return rowSort(nil)
	case name == leftName:
		return leftFactor{}
	case name == columnsName:
		return columnOrder(nil)
	case name == rightName:
		return rightFactor{}
	case name == transposedName:
		return transposition{}
	case name == deflationName && f != nil:
		return f
	case name == nullName && f != nil:
		return nullSigns{deflation: f}
	}
	return nil
}

// describeStep describes what a step has.
func (p *prepared) describeStep(c *checkpoint.Codec, d *matrix.Devices, name string, x *step) {
	switch s := (*x).(type) {
	case rowSort:
		checkpoint.Vector(c, name, (*[]int)(&s))
		*x = s
	case columnOrder:
		checkpoint.Vector(c, name, (*[]int)(&s))
		*x = s
	case leftFactor:
		checkpoint.Fact(c, name+".n", &s.n)
		matrix.DescribeOrthogonal(c, d, name, &s.q)
		*x = s
	case rightFactor:
		matrix.DescribeOrthogonal(c, d, name, &s.q)
		*x = s
	case nullSigns:
		checkpoint.Fact(c, name+".signs", &s.signs)
		*x = s
	}
}

// describe describes what a deflation has.
func (f *deflation) describe(c *checkpoint.Codec, d *matrix.Devices) {
	checkpoint.Fact(c, "deflation.n", &f.n)
	checkpoint.Fact(c, "deflation.positive", &f.positive)
	for _, x := range []struct {
		name string
		*inertia
	}{{"row", &f.row}, {"null", &f.null}} {
		matrix.Describe(c, d, x.name+".z", &x.z)
		checkpoint.Vector(c, x.name+".lambda", &x.lambda)
		checkpoint.Vector(c, x.name+".root", &x.root)
	}
}

// describe describes what the second way of a hyperbolic SVD has found.
func (f *factors) describe(c *checkpoint.Codec, d *matrix.Devices) {
	checkpoint.Fact(c, "positive", &f.positive)
	checkpoint.Fact(c, "shift", &f.shift)
	checkpoint.Vector(c, "sigma", &f.sigma)
	matrix.Describe(c, d, "u", &f.u)
	matrix.Describe(c, d, "v", &f.v)
	matrix.Describe(c, d, "g", &f.g)
	matrix.Describe(c, d, "z", &f.z)
}

// refined is what has become of sweeps in float32.
type refined struct {
	*refine.Result        // nil if columns became zero; U and V are nil if it comes from a checkpoint
	why            string // it does not serve; empty if it does
}

// describe describes what is needed of it when the next sweeps have begun.
func (r *refined) describe(c *checkpoint.Codec) {
	var k struct {
		Why     string
		Outcome int
		Values  []float64
		Steps   []refine.Step
	}
	if k.Why = r.why; r.Result != nil {
		k.Outcome, k.Values, k.Steps = int(r.Outcome), r.Values, r.Steps
	}
	if checkpoint.Fact(c, "refined", &k); c.Loading() {
		*r = refined{&refine.Result{Outcome: refine.Outcome(k.Outcome), Values: k.Values, Steps: k.Steps}, k.Why}
	}
}
