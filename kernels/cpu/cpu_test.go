package cpu

import (
	"testing"

	"jmpi/kernels/kerneltest"
)

func TestPrimitives(t *testing.T) {
	for _, instructions := range []string{"avx512", "avx2", "generic"} {
		t.Run(instructions, func(t *testing.T) {
			b, err := open(2, instructions)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			kerneltest.All(t, b)
		})
	}
}
