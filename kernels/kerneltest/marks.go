package kerneltest

import (
	"testing"

	"jmpi/kernels"
)

// Marks tests that marks keep the order between two devices of a kind, which may be the same: what is brought
// is there when it is brought, and stays until it has been read. It is brought in pieces.
func Marks(t *testing.T, a, b kernels.Backend) {
	const m, n, rounds = 700, 500, 12
	ones := newMatrix(m, n)
	for i := range ones.a {
		ones.a[i] = 1
	}
	source, work := upload(t, a, ones), upload(t, a, random(newRand(1), m, n))
	square := upload(t, a, newMatrix(n, n))
	var landing, sums [2]panel
	for k := range landing {
		landing[k], sums[k] = upload(t, b, nan(m, n)), upload(t, b, newMatrix(m, n))
	}
	var free [2]kernels.Mark
	for k := range rounds {
		// The source is late: it doubles after products that take a while.
		for range 4 {
			must(t, a.Gemm([]kernels.Gemm{{TransA: true, Alpha: 1, A: work.Panel, B: work.Panel, C: square.Panel}}))
		}
		must(t, a.Ldexp(source.Panel, 1))
		ready, err := a.Mark()
		must(t, err)
		to := k % 2
		inner := func(p panel) kernels.Panel { return p.Columns(1, n-1).Rows(k%3, m-2) }
		must(t, b.Follow(free[to]))
		must(t, b.Convert(landing[to].Panel, landing[1-to].Panel)) // so that what arrives late is seen
		cleared, err := b.Mark()
		must(t, err)
		arrived, err := b.Bring(pieces(inner(landing[to])), pieces(inner(source)), ready, free[to],
			cleared)
		must(t, err)
		must(t, a.Follow(arrived))
		must(t, b.Follow(arrived))
		must(t, b.Add(inner(sums[to]), inner(landing[to])))
		if free[to], err = b.Mark(); err != nil {
			t.Fatal(err)
		}
	}
	must(t, b.Await(free[0], free[1], 0))
	for to := range sums {
		want := newMatrix(m, n)
		for k := to; k < rounds; k += 2 {
			for j := 1; j < n-1; j++ {
				for i := k % 3; i < m-2; i++ {
					want.set(i, j, want.at(i, j)+float64(int(2)<<k))
				}
			}
		}
		equal(t, sums[to].download(), want)
	}
	// Without elements there is nothing to do.
	empty := []kernels.Panel{{Ld: 1}}
	none, err := b.Bring(empty, empty)
	must(t, err)
	must(t, b.Await(none))
	none, err = b.Bring(nil, nil)
	must(t, err)
	must(t, b.Await(none))
	one, other := []kernels.Panel{landing[0].Panel}, []kernels.Panel{source.Columns(0, 1)}
	if _, err := b.Bring(one, other); err == nil {
		t.Error("panels of other shapes were taken")
	}
	if _, err := b.Bring(one, nil); err == nil {
		t.Error("lists of other lengths were taken")
	}
}

// pieces cuts a panel into columns.
func pieces(p kernels.Panel) (all []kernels.Panel) {
	for j := 0; j < p.N; j += 100 {
		all = append(all, p.Columns(j, min(j+100, p.N)))
	}
	return all
}

// Brought tests what is brought in one call: panels of one shape at equal distances, which may be brought
// together, some that are further apart, or in the other order, or of other shapes, and some that are not
// whole.
func Brought(t *testing.T, a, b kernels.Backend) {
	const m, n, width = 48, 120, 10
	from := random(newRand(3), m, n)
	for _, x := range []struct {
		name  string
		pairs [][2]int // first columns
		part  bool     // not all rows
		last  int      // columns of the last one
	}{
		{"in turn", [][2]int{{0, 10}, {20, 20}, {40, 30}, {60, 40}}, false, width},
		{"side by side", [][2]int{{0, 50}, {10, 60}, {20, 70}}, false, width},
		{"two runs", [][2]int{{0, 0}, {20, 10}, {80, 60}, {100, 70}}, false, width},
		{"one run and more", [][2]int{{0, 0}, {20, 20}, {40, 30}, {50, 100}}, false, width},
		{"backwards", [][2]int{{80, 0}, {40, 20}, {0, 40}}, false, width},
		{"the last is narrow", [][2]int{{0, 0}, {20, 10}, {40, 20}}, false, 7},
		{"some rows", [][2]int{{0, 0}, {20, 10}, {40, 20}}, true, width},
		{"one", [][2]int{{30, 90}}, false, width},
	} {
		src, dst, want := upload(t, a, from), upload(t, b, nan(m, n)), nan(m, n)
		var sources, targets []kernels.Panel
		whole, count := src.whole().M, m // with what lies between the columns
		if x.part {
			whole, count = m-1, m-1
		}
		for k, pair := range x.pairs {
			columns := width
			if k == len(x.pairs)-1 {
				columns = x.last
			}
			sources = append(sources, src.whole().Columns(pair[1], pair[1]+columns).Rows(0, whole))
			targets = append(targets, dst.whole().Columns(pair[0], pair[0]+columns).Rows(0, whole))
			for j := range columns {
				for i := range count {
					want.set(i, pair[0]+j, from.at(i, pair[1]+j))
				}
			}
		}
		mark, err := b.Bring(targets, sources)
		must(t, err)
		must(t, b.Await(mark))
		t.Run(x.name, func(t *testing.T) { equal(t, dst.download(), want) })
	}
}

// Again tests memory that is used again while what was done with it before is still queued, on two devices of
// a kind, which may be the same. It is zero for what is queued then, and was not for what was queued before.
// So it is for Write and Read, for panels that are brought to it when a mark is done, and for Store after
// Sync.
func Again(t *testing.T, a, b kernels.Backend) {
	const m, n, rounds = 500, 300, 10
	panel := func(d kernels.Backend) kernels.Panel {
		p := kernels.Panel{M: m, N: n, Ld: m}
		var err error
		p.Data, err = d.Alloc(p.Bytes())
		must(t, err)
		return p
	}
	sum, work, square := upload(t, b, newMatrix(m, n)), upload(t, a, random(newRand(1), m, n)),
		upload(t, a, newMatrix(n, n))
	want, host := newMatrix(m, n), newMatrix(m, n)
	for i := range host.a {
		host.a[i] = 1
	}
	for k := range rounds {
		p := panel(a)
		for range 3 { // so that it takes a while
			must(t, a.Gemm([]kernels.Gemm{{TransA: true, Alpha: 1, A: work.Panel, B: work.Panel, C: square.Panel}}))
		}
		must(t, a.Identity(p, k)) // other elements must be zero: it is added below
		must(t, a.Ldexp(p, k))
		for j := range n {
			if i := j + k; i < m {
				want.set(i, j, want.at(i, j)+float64(int(1)<<k))
			}
		}
		ready, err := a.Mark()
		must(t, err)
		q := panel(b)
		zero, err := b.Mark()
		must(t, err)
		arrived, err := b.Bring([]kernels.Panel{q}, []kernels.Panel{p}, ready, zero)
		must(t, err)
		must(t, a.Follow(arrived))
		must(t, b.Follow(arrived))
		must(t, a.Free(p.Data)) // while it is on its way
		must(t, b.Add(sum.Panel, q))
		must(t, b.Free(q.Data))

		p = panel(a)
		switch k % 3 {
		case 0:
			must(t, a.Write(p.Columns(0, n/2), host.a, m))
		case 1:
			h, err := a.AllocHost(p.Bytes())
			must(t, err)
			must(t, a.Sync())
			must(t, a.Fetch(h, p.Data, p.Bytes()))
			must(t, a.Store(p.Data, h, p.Bytes()))
			must(t, a.FreeHost(h))
		}
		got := newMatrix(m, n)
		must(t, a.Read(got.a, m, p))
		for i, x := range got.a {
			if first := k%3 == 0 && i < n/2*m; first && x != 1 || !first && x != 0 {
				t.Fatalf("round %d: element %d of memory that is used again is %g", k, i, x)
			}
		}
		must(t, a.Identity(p, 0)) // so that it is not zero
		must(t, a.Free(p.Data))
	}
	equal(t, sum.download(), want)
}
