package matrix

// Select returns the matrix whose column k is column columns[k] of s, none twice. It is collective.
func Select(s *Matrix, columns []int) (*Matrix, error) {
	t, err := s.New(s.M, len(columns))
	if err != nil {
		return nil, err
	}
	return t, s.Give(t.all(func(k int) int { return columns[k] }), nil)
}

// Put copies column k of t to column columns[k] of s, none twice. It is collective.
func Put(s, t *Matrix, columns []int) error {
	return s.Take(t.all(func(k int) int { return columns[k] }))
}
