package matio

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// parseNpyHeader parses the text of a .npy header, a Python dictionary with the keys descr, fortran_order
// and shape in any order, as {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }.
func parseNpyHeader(text string) (npyHeader, error) {
	var h npyHeader
	seen := map[string]bool{}
	l := literal(text)
	if !l.take("{") {
		return h, errors.New("it does not begin with {")
	}
	for !l.take("}") {
		key, err := l.quoted()
		if err == nil && seen[key] {
			err = fmt.Errorf("key %.30q is there twice", key)
		}
		if err == nil && !l.take(":") {
			err = fmt.Errorf("no colon after key %.30q", key)
		}
		if err != nil {
			return h, err
		}
		seen[key] = true
		switch key {
		case "descr":
			h.descr, err = l.descr()
		case "fortran_order":
			h.fortran, err = l.boolean()
		case "shape":
			h.shape, err = l.tuple()
		default:
			err = fmt.Errorf("unknown key %.30q", key)
		}
		if err != nil {
			return h, err
		}
		if !l.take(",") && !l.next("}") {
			return h, fmt.Errorf("no comma after the value of %.30q", key)
		}
	}
	if rest := strings.Trim(string(l), blanks); rest != "" {
		return h, fmt.Errorf("%.20q follows the dictionary", rest)
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return h, fmt.Errorf("key %.30q is missing", key)
		}
	}
	return h, nil
}

// blanks are the white space of a header.
const blanks = " \t\r\n"

// literal is the rest of a text of Python literals.
type literal string

// next tells whether the text goes on with token, after white space, which it removes.
func (l *literal) next(token string) bool {
	*l = literal(strings.TrimLeft(string(*l), blanks))
	return strings.HasPrefix(string(*l), token)
}

// take removes token if the text goes on with it.
func (l *literal) take(token string) bool {
	ok := l.next(token)
	if ok {
		*l = (*l)[len(token):]
	}
	return ok
}

// quoted takes a string in single or double quotes, without escapes.
func (l *literal) quoted() (string, error) {
	for _, quote := range []string{"'", `"`} {
		if l.take(quote) {
			text, rest, ok := strings.Cut(string(*l), quote)
			if !ok {
				return "", fmt.Errorf("string %.20q has no end", text)
			}
			*l = literal(rest)
			return text, nil
		}
	}
	return "", fmt.Errorf("a string is missing before %.20q", string(*l))
}

func (l *literal) descr() (string, error) {
	if l.next("[") {
		return "", fmt.Errorf("a structure (dtype %.30q); save one field of it as float64", string(*l))
	}
	return l.quoted()
}

func (l *literal) boolean() (bool, error) {
	if l.take("True") {
		return true, nil
	}
	if l.take("False") {
		return false, nil
	}
	return false, fmt.Errorf("fortran_order must be True or False, not %.10q", string(*l))
}

// tuple takes a tuple of integers ≥ 0; Python 2 wrote them as 3L.
func (l *literal) tuple() ([]int64, error) {
	whole := *l
	if !l.take("(") {
		return nil, fmt.Errorf("shape must be a tuple, not %.20q", string(whole))
	}
	var shape []int64
	comma := false
	for !l.take(")") {
		digits := len(*l) - len(strings.TrimLeft(string(*l), "0123456789"))
		n, err := strconv.ParseInt(string((*l)[:digits]), 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			return nil, fmt.Errorf("dimension %.30s is too large", string((*l)[:digits]))
		} else if err != nil {
			return nil, fmt.Errorf("shape has %.20q where a number ≥ 0 is expected", string(*l))
		}
		*l = (*l)[digits:]
		l.take("L")
		shape = append(shape, n)
		if comma = l.take(","); !comma && !l.next(")") {
			return nil, fmt.Errorf("no comma in shape before %.20q", string(*l))
		}
	}
	if len(shape) == 1 && !comma {
		return nil, fmt.Errorf("shape (%d) is a number, not a tuple; (%d,) is one dimension", shape[0], shape[0])
	}
	return shape, nil
}
