package kernels

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Heap keeps account of a device's memory. What is given back is kept for the next allocation of its size,
// since it takes long to get memory from the system and to return it. What is in use and what is kept never
// add up to more than the most that was in use at a time, and Spare. Its methods may be called at any time,
// by anybody.
type Heap struct {
	Get   func(bytes int64) (Address, error) // from the system
	Put   func(a Address, bytes int64) error // back to it
	Spare int64                              // bytes that may be kept in any case

	mu              sync.Mutex
	used            map[Address]int64
	kept            []extent // what was given back last is the last
	now, idle, most int64    // bytes in use and kept, and the most in use at a time
}

type extent struct {
	at    Address
	bytes int64
}

// Alloc returns memory, and whether it is used again: then it holds anything.
func (h *Heap) Alloc(bytes int64) (a Address, again bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, x := range slices.Backward(h.kept) {
		if x.bytes == bytes {
			h.kept = slices.Delete(h.kept, i, i+1)
			h.idle -= bytes
			h.add(x.at, bytes)
			return x.at, true, nil
		}
	}
	a, err = h.get(bytes)
	return a, false, err
}

// New returns memory from the system.
func (h *Heap) New(bytes int64) (Address, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.get(bytes)
}

// get makes room, and gets memory. Where the system has none left, it gets all that is kept.
func (h *Heap) get(bytes int64) (Address, error) {
	if bytes < 0 {
		return 0, fmt.Errorf("%w: %d bytes", ErrShape, bytes)
	}
	if err := h.trim(max(h.most-h.now-bytes, h.Spare)); err != nil {
		return 0, err
	}
	a, err := h.Get(bytes)
	if err != nil && len(h.kept) > 0 {
		if err = h.trim(-1); err == nil {
			a, err = h.Get(bytes)
		}
	}
	if err != nil {
		return 0, err
	}
	h.add(a, bytes)
	return a, nil
}

func (h *Heap) add(a Address, bytes int64) {
	if h.used == nil {
		h.used = map[Address]int64{}
	}
	h.used[a] = bytes
	h.now += bytes
	h.most = max(h.most, h.now)
}

// trim returns what is kept to the system, the oldest first, until at most so many bytes are left.
func (h *Heap) trim(most int64) (err error) {
	for len(h.kept) > 0 && h.idle > most {
		x := h.kept[0]
		h.kept = slices.Delete(h.kept, 0, 1)
		h.idle -= x.bytes
		err = errors.Join(err, h.Put(x.at, x.bytes))
	}
	return err
}

// Free takes memory back, and keeps it.
func (h *Heap) Free(a Address) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	bytes, err := h.remove(a)
	if err == nil {
		h.kept = append(h.kept, extent{a, bytes})
		h.idle += bytes
	}
	return err
}

// Return takes memory back, and returns it to the system.
func (h *Heap) Return(a Address) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	bytes, err := h.remove(a)
	if err != nil {
		return err
	}
	return h.Put(a, bytes)
}

// remove forgets memory that is in use.
func (h *Heap) remove(a Address) (bytes int64, err error) {
	bytes, ok := h.used[a]
	if !ok {
		return 0, fmt.Errorf("%w: %#x", ErrAddress, uintptr(a))
	}
	delete(h.used, a)
	h.now -= bytes
	return bytes, nil
}

// Close returns everything to the system.
func (h *Heap) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.trim(-1)
	for a, bytes := range h.used {
		err = errors.Join(err, h.Put(a, bytes))
	}
	h.used, h.now = nil, 0
	return err
}

// Idle returns the bytes that are kept.
func (h *Heap) Idle() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.idle
}

// Peak returns the most bytes that were in use at a time.
func (h *Heap) Peak() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.most
}
