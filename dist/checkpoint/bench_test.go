package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"

	"jmpi/dist/comm"
)

// BenchmarkSave writes checkpoints of G and V of order 4096 in float64, one after the other, by one rank and
// by two. It tells the processor time that one takes from what is computed meanwhile: in the program, and in
// the kernel on its behalf.
func BenchmarkSave(b *testing.B) {
	const n, width = 4096, 256
	state := make([]byte, 8*n*n)
	random := rand.New(rand.NewPCG(1, 1))
	for i := 0; i < len(state); i += 8 {
		binary.LittleEndian.PutUint64(state[i:], math.Float64bits(random.NormFloat64()))
	}
	for _, ranks := range []int{1, 2} {
		b.Run(fmt.Sprintf("ranks=%d", ranks), func(b *testing.B) {
			dir := b.TempDir()
			b.SetBytes(2 * 8 * n * n)
			user, system := spent(b)
			err := onRanks(ranks, func(world comm.Comm) error {
				j, err := Open(world, config(dir))
				if err != nil {
					return err
				}
				s, err := j.Next(State)
				if err != nil {
					return err
				}
				array := Array{Store: func(put Move) error {
					for at := world.Rank() * width; at < n; at += ranks * width {
						if err := put(at, state[8*n*at:8*n*(at+width)]); err != nil {
							return err
						}
					}
					return nil
				}}
				for range b.N {
					err = errors.Join(s.Put(func(c *Codec) {
						c.Array("G", Shape{Count: n, Bytes: 8 * n}, array)
						c.Array("V", Shape{Count: n, Bytes: 8 * n}, array)
					}), j.Save(true))
				}
				return errors.Join(err, j.Close())
			})
			if err != nil {
				b.Fatal(err)
			}
			u, s := spent(b)
			b.ReportMetric((u-user)/float64(b.N), "user-s/op")
			b.ReportMetric((s-system)/float64(b.N), "sys-s/op")
		})
	}
}

// spent returns the seconds of processor time of this process.
func spent(b *testing.B) (user, system float64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(u.Utime), seconds(u.Stime)
}
