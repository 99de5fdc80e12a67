package cuda

import (
	"errors"

	"jmpi/internal/nvidia"
	"jmpi/kernels"
)

// elementwise queues a kernel of shape.cu that has a thread for every row of an m×n panel.
func (d *device) elementwise(name string, m, n int, words ...uint64) error {
	return d.launch(name, ceil(m, 256), min(n, gridLimit), 1, 256, 0, words...)
}

// bits names the element type of a panel in the names of kernels.
func bits(p kernels.Panel) string {
	if p.Type == kernels.Float32 {
		return "32"
	}
	return "64"
}

func (d *device) Convert(dst, src kernels.Panel) error {
	return d.checked("Convert", kernels.CheckConvert(dst, src), func() error {
		return d.elementwise("convert_"+bits(dst)+"_"+bits(src), dst.M, dst.N, word(dst.Data), uint64(dst.Ld),
			word(src.Data), uint64(src.Ld), uint64(dst.M), uint64(dst.N))
	})
}

func (d *device) Add(dst, src kernels.Panel) error {
	return d.checked("Add", kernels.CheckAdd(dst, src), func() error {
		return d.elementwise("add", dst.M, dst.N, word(dst.Data), uint64(dst.Ld), word(src.Data), uint64(src.Ld),
			uint64(dst.M), uint64(dst.N))
	})
}

// putBytes is the most that Put has of the staging memory at a time. Every lane has so much.
const putBytes = besideBytes

func (d *device) Put(dst kernels.Panel, x []float64) error {
	wrong, ld, bytes := dst.CheckHost("dst", x, max(1, dst.M)), max(1, dst.M), dst.M*dst.N*kernels.WordBytes
	if wrong == nil && bytes > putBytes {
		return d.Write(dst, x, ld)
	}
	return d.checked("Put", wrong, func() error {
		if bytes > d.lists.room() {
			if err := d.emptied(); err != nil {
				return err
			}
		}
		at := d.lists.place(words(x[:dst.M*dst.N]))
		return d.copyMatrix(d.stream, on(dst), side{host: true, address: uintptr(at), ld: ld}, dst.M, dst.N)
	})
}

// Zero takes panels of float64 in one launch, where there are several.
func (d *device) Zero(all ...kernels.Panel) error {
	var wrong error
	one := len(all) > 1
	for _, p := range all {
		wrong = errors.Join(wrong, p.CheckAny("panel"))
		one = one && p.Type == kernels.Float64
	}
	return d.checked("Zero", wrong, func() error {
		if !one {
			for _, p := range all {
				if err := d.zero(p); err != nil {
					return err
				}
			}
			return nil
		}
		list, err := d.members("panels to clear", all)
		if err != nil {
			return err
		}
		return d.launch("clear", min(list.widest, gridLimit), min(len(all), gridLimit), 1, 64, 0, word(list.at),
			uint64(len(all)))
	})
}

// zero queues the writing of zeros.
func (d *device) zero(p kernels.Panel) error {
	if p.M == 0 || p.N == 0 {
		return nil
	}
	size := uintptr(p.Type.Bytes())
	return d.check("cuMemsetD2D8Async", nvidia.Invoke(d.cuMemsetD2D8Async, uintptr(p.Data), uintptr(p.Ld)*size,
		0, uintptr(p.M)*size, uintptr(p.N), d.stream))
}

// Transpose takes all panels in one launch.
func (d *device) Transpose(dst, src []kernels.Panel) error {
	return d.checked("Transpose", kernels.CheckTranspose(dst, src), func() error {
		to, err := d.members("transposes", dst)
		if err != nil {
			return err
		}
		from, err := d.members("panels to transpose", src)
		if err != nil {
			return err
		}
		return d.launch("transpose", ceil(from.longest, 32), min(ceil(from.widest, 32), gridLimit),
			min(len(src), gridLimit), 256, 0, word(to.at), word(from.at), uint64(len(src)))
	})
}

func (d *device) Scale(p kernels.Panel, rows, columns []float64) error {
	return d.withFactors("Scale", "scale", p, rows, columns)
}

func (d *device) Divide(p kernels.Panel, rows, columns []float64) error {
	return d.withFactors("Divide", "divide", p, rows, columns)
}

// withFactors queues a kernel with a number for each row and for each column of p, or none.
func (d *device) withFactors(op, kernel string, p kernels.Panel, rows, columns []float64) error {
	return d.checked(op, p.CheckFactors(rows, columns), func() error {
		ofRows, err := d.numbers("factors of rows", rows)
		if err != nil {
			return err
		}
		ofColumns, err := d.numbers("factors of columns", columns)
		if err != nil {
			return err
		}
		return d.elementwise(kernel, p.M, p.N, word(p.Data), uint64(p.M), uint64(p.N), uint64(p.Ld), word(ofRows),
			word(ofColumns))
	})
}

// farthest is more than any two exponents of float64 differ by.
const farthest = 3000

func (d *device) Ldexp(p kernels.Panel, e int) error {
	e = max(-farthest, min(e, farthest))
	return d.checked("Ldexp", p.Check("panel"), func() error {
		return d.elementwise("multiply_power", p.M, p.N, word(p.Data), uint64(p.M), uint64(p.N), uint64(p.Ld),
			uint64(e))
	})
}
