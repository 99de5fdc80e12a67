package gen

import (
	"encoding/binary"
	"math/rand/v2"
)

// stream returns the random numbers of one thing, for example of one column: a ChaCha8
// generator whose key is the seed, the index and the purpose (its first 16 bytes). So streams
// are independent and can be started anywhere.
func stream(seed uint64, purpose string, index int) *rand.Rand {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[0:], seed)
	binary.LittleEndian.PutUint64(key[8:], uint64(index))
	copy(key[16:], purpose)
	return rand.New(rand.NewChaCha8(key))
}
