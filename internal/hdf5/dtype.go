package hdf5

import (
	"errors"
	"fmt"
	"unsafe"
)

// layouts are those of IEEE 754: of a number of so many bytes, the sign's place, then place and size of the
// exponent, and of the fraction.
var layouts = map[uintptr][5]uintptr{
	2: {15, 10, 5, 0, 10}, 4: {31, 23, 8, 0, 23}, 8: {63, 52, 11, 0, 52},
}

// biases are those of the exponents.
var biases = map[uintptr]uintptr{2: 15, 4: 127, 8: 1023}

// dtype returns the type of the elements of the data set id, as NumPy writes it. Another error than that of a
// library that fails says what they are.
func (d *document) dtype(h *holder, id uintptr) (string, error) {
	kind, err := d.id(h, "H5Tclose", "H5Dget_type", id)
	if err != nil {
		return "", err
	}
	class, err := d.status("H5Tget_class", kind)
	if err != nil {
		return "", err
	}
	switch class {
	case integerType:
		return d.integer(kind)
	case floatType:
		return d.float(kind)
	case enumType:
		return d.truth(h, kind)
	case compoundType:
		return "", d.compound(kind)
	}
	name := typeNames[class]
	if name == "" {
		name = fmt.Sprintf("values of a type of class %d", class)
	}
	return "", fmt.Errorf("it has %s, not real numbers", name)
}

// truth is dtype for an enumeration: h5py writes truth values as one of bytes.
func (d *document) truth(h *holder, kind uintptr) (string, error) {
	if n, err := d.status("H5Tget_nmembers", kind); err != nil || n != 2 {
		return "", errors.Join(err, errors.New("it has values of an enumeration, not real numbers"))
	}
	base, err := d.id(h, "H5Tclose", "H5Tget_super", kind)
	if err != nil {
		return "", err
	}
	if size, err := d.call("H5Tget_size", base); err != nil || size != 1 {
		return "", errors.Join(err, errors.New("it has values of an enumeration, not real numbers"))
	}
	return "|b1", nil
}

// compound says what a compound type is: complex numbers have two parts.
func (d *document) compound(kind uintptr) error {
	var parts [2]string
	if n, err := d.status("H5Tget_nmembers", kind); err != nil || n != 2 {
		return errors.Join(err, errors.New("it has compound values, not real numbers"))
	}
	for k := range parts {
		address, err := d.call("H5Tget_member_name", kind, uintptr(k))
		if err != nil {
			return err
		}
		parts[k] = text(address)
		if address != 0 {
			if _, err := d.status("H5free_memory", address); err != nil {
				return err
			}
		}
	}
	switch parts {
	case [2]string{"r", "i"}, [2]string{"real", "imag"}:
		return errors.New("complex numbers; only real matrices are decomposed; save the real part if that is all")
	}
	return errors.New("it has compound values, not real numbers")
}

// order returns the byte order of numbers, as NumPy writes it, and how many bytes each has, if it fills them.
func (d *document) order(kind uintptr) (name string, size uintptr, err error) {
	if size, err = d.call("H5Tget_size", kind); err != nil {
		return "", 0, err
	}
	order, err := d.status("H5Tget_order", kind)
	if err != nil {
		return "", 0, err
	}
	bits, err := d.call("H5Tget_precision", kind)
	if err != nil {
		return "", 0, err
	}
	shift, err := d.status("H5Tget_offset", kind)
	switch {
	case err != nil:
		return "", 0, err
	case size != 1 && size != 2 && size != 4 && size != 8 || bits != 8*size || shift != 0 || order > 1:
		return "", 0, fmt.Errorf("it has numbers of %d bits in %d bytes, which is not supported; write float64",
			bits, size)
	case size == 1:
		return "|", size, nil
	case order == 1:
		return ">", size, nil
	}
	return "<", size, nil
}

func (d *document) integer(kind uintptr) (string, error) {
	order, size, err := d.order(kind)
	if err != nil {
		return "", err
	}
	sign, err := d.status("H5Tget_sign", kind)
	code := "u"
	if sign == 1 { // two's complement
		code = "i"
	}
	return fmt.Sprintf("%s%s%d", order, code, size), err
}

func (d *document) float(kind uintptr) (string, error) {
	order, size, err := d.order(kind)
	if err != nil {
		return "", err
	}
	var places [5]uintptr
	if _, err = d.status("H5Tget_fields", kind, uintptr(unsafe.Pointer(&places[0])),
		uintptr(unsafe.Pointer(&places[1])), uintptr(unsafe.Pointer(&places[2])),
		uintptr(unsafe.Pointer(&places[3])), uintptr(unsafe.Pointer(&places[4]))); err != nil {
		return "", err
	}
	bias, err := d.call("H5Tget_ebias", kind)
	if err != nil {
		return "", err
	}
	implied, err := d.status("H5Tget_norm", kind)
	if err == nil && (places != layouts[size] || bias != biases[size] || implied != 0) {
		err = fmt.Errorf("it has floating-point numbers of %d bytes that are not of IEEE 754; write float64", size)
	}
	return fmt.Sprintf("%sf%d", order, size), err
}
