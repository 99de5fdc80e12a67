// Command bits decomposes the matrix in FILE, raw and column-major, and writes S, U and V, column-major, into
// DIR: bits FILE M N POSITIVE DIR. The first POSITIVE columns have the sign +1, the others −1; −1: the SVD.
// Each rank gives its share of the columns.
package main

import (
	"context"
	"encoding/binary"
	"log"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"jmpi/dist/svd"
)

func main() {
	args := os.Args[1:]
	if err := run(args[0], number(args[1]), number(args[2]), number(args[3]), args[4]); err != nil {
		log.Fatal(err)
	}
}

func number(text string) int {
	x, err := strconv.Atoi(text)
	if err != nil {
		log.Fatal(err)
	}
	return x
}

func run(file string, m, n, positive int, dir string) error {
	world, err := svd.Start(svd.Options{Backend: svd.CPU})
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	j0, j1 := world.Rank()*n/world.Size(), (world.Rank()+1)*n/world.Size()
	a := mat.NewDense(m, j1-j0, nil)
	for j := j0; j < j1; j++ {
		for i := range m {
			a.Set(i, j-j0, math.Float64frombits(binary.LittleEndian.Uint64(data[8*(i+j*m):])))
		}
	}
	var r *svd.Result
	if positive < 0 {
		r, err = world.SVD(context.Background(), svd.Columns(a), svd.Settings{})
	} else {
		signs := make([]float64, n)
		for j := range signs {
			if signs[j] = -1; j < positive {
				signs[j] = 1
			}
		}
		r, err = world.HSVD(context.Background(), svd.Columns(a), signs, svd.Settings{})
	}
	if err != nil {
		return err
	}
	u, v, err := r.Gather(0)
	if err != nil {
		return err
	}
	r.Free()
	if world.Rank() == 0 {
		for name, x := range map[string]mat.Matrix{"S": mat.NewVecDense(len(r.S), r.S), "U": u, "V": v} {
			if err := write(filepath.Join(dir, name), x); err != nil {
				return err
			}
		}
	}
	return world.Close()
}

func write(path string, x mat.Matrix) error {
	var b []byte
	m, n := x.Dims()
	for j := range n {
		for i := range m {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x.At(i, j)))
		}
	}
	return os.WriteFile(path, b, 0o666)
}
