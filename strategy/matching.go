package strategy

// matching is a perfect matching of the remaining graph, kept while a p-step is chosen pair by pair: it
// contains the pairs taken so far, and else only pairs of higher rank than the last decision. To take or to
// drop a pair changes it along one alternating path (Edmonds' blossom algorithm, 1965).
type matching struct {
	*remaining
	mate  []int  // the partner, −1 if there is none
	taken []bool // the vertices of taken pairs, out of the game
	floor int32  // only edges of higher rank may be used

	// The alternating forest of augment, per vertex.
	parent  []int  // of an inner vertex: the outer one it was reached from, −1 if it was not
	base    []int  // of the blossom that holds the vertex
	outer   []bool // at even distance from the root
	blossom []bool // by base: part of the blossom that is being shrunk
	onPath  []bool // by base: on the way to the root
	queue   []int  // outer vertices to search from
}

func newMatching(g *remaining) *matching {
	m := &matching{
		remaining: g, floor: -1,
		mate: make([]int, g.n), taken: make([]bool, g.n),
		parent: make([]int, g.n), base: make([]int, g.n), outer: make([]bool, g.n),
		blossom: make([]bool, g.n), onPath: make([]bool, g.n), queue: make([]int, 0, g.n),
	}
	for v := range m.mate {
		m.mate[v] = -1
	}
	return m
}

// complete makes the matching perfect from a greedy start, or reports that none is.
func (m *matching) complete() bool {
	for r, p := range m.pairs {
		if !m.used(r) && m.mate[p.P] < 0 && m.mate[p.Q] < 0 {
			m.match(p.P, p.Q)
		}
	}
	for v := range m.n {
		if m.mate[v] < 0 && !m.augment(v) {
			return false
		}
	}
	return true
}

func (m *matching) match(u, v int) { m.mate[u], m.mate[v] = v, u }

// open reports whether the pair of rank r remains and shares no index with the taken ones.
func (m *matching) open(r int) bool {
	p := m.pairs[r]
	return !m.taken[p.P] && !m.taken[p.Q] && !m.used(r)
}

// take puts the pair of rank r into the matching for good; beside it only higher ranks may be
// used. It reports false, with the matching unchanged, if no perfect matching is such.
func (m *matching) take(r int) bool {
	u, v := m.pairs[r].P, m.pairs[r].Q
	m.taken[u], m.taken[v] = true, true
	m.floor = int32(r)
	a, b := m.mate[u], m.mate[v]
	if a == v {
		return true
	}
	m.mate[a], m.mate[b] = -1, -1
	if m.augment(a) {
		m.match(u, v)
		return true
	}
	m.match(u, a)
	m.match(v, b)
	m.taken[u], m.taken[v] = false, false
	return false
}

// drop takes the pair of rank r out of the matching; only higher ranks may replace it.
// It reports false, with the pair still matched but no longer taken, if no perfect matching is such.
func (m *matching) drop(r int) bool {
	u, v := m.pairs[r].P, m.pairs[r].Q
	m.taken[u], m.taken[v] = false, false
	m.floor = int32(r)
	m.mate[u], m.mate[v] = -1, -1
	if m.augment(u) {
		return true
	}
	m.match(u, v)
	return false
}

// augment searches an alternating path from root, which has no mate, to another vertex without one, and
// swaps matched and unmatched edges along it. It reports false, with the matching unchanged, if there is no
// path or the effort is spent.
func (m *matching) augment(root int) bool {
	for v := range m.n {
		m.parent[v], m.base[v], m.outer[v] = -1, v, false
	}
	m.outer[root] = true
	m.queue = append(m.queue[:0], root)
	for head := 0; head < len(m.queue) && m.effort > 0; head++ {
		v := m.queue[head]
		m.effort -= int64(m.n)
		row := m.rank[v*m.n:][:m.n]
		for w, r := range row {
			if r <= m.floor || m.taken[w] || m.base[v] == m.base[w] || m.mate[v] == w {
				continue
			}
			switch {
			case m.outer[w]:
				m.shrink(v, w)
			case m.parent[w] < 0:
				m.parent[w] = v
				if m.mate[w] < 0 {
					m.swap(w)
					return true
				}
				m.outer[m.mate[w]] = true
				m.queue = append(m.queue, m.mate[w])
			}
		}
	}
	return false
}

// swap matches along the path that leads from w, an inner vertex without a mate, back to the root.
func (m *matching) swap(w int) {
	for w >= 0 {
		v := m.parent[w]
		next := m.mate[v]
		m.match(v, w)
		w = next
	}
}

// shrink makes one blossom of the odd cycle that the edge between the outer vertices v and w closes.
// All its vertices become outer.
func (m *matching) shrink(v, w int) {
	top := m.ancestor(v, w)
	clear(m.blossom)
	m.climb(v, top, w)
	m.climb(w, top, v)
	for u := range m.n {
		if m.blossom[m.base[u]] {
			m.base[u] = top
			if !m.outer[u] {
				m.outer[u] = true
				m.queue = append(m.queue, u)
			}
		}
	}
}

// climb marks the bases from v up to top, and lets the parents of the vertices
// on the way lead round the cycle, beginning with child.
func (m *matching) climb(v, top, child int) {
	for m.base[v] != top {
		inner := m.mate[v]
		m.blossom[m.base[v]], m.blossom[m.base[inner]] = true, true
		m.parent[v] = child
		child = inner
		v = m.parent[inner]
	}
}

// ancestor returns the nearest common base of the outer vertices v and w in the forest.
func (m *matching) ancestor(v, w int) int {
	clear(m.onPath)
	for {
		v = m.base[v]
		m.onPath[v] = true
		if m.mate[v] < 0 {
			break
		}
		v = m.parent[m.mate[v]]
	}
	for {
		w = m.base[w]
		if m.onPath[w] {
			return w
		}
		w = m.parent[m.mate[w]]
	}
}
