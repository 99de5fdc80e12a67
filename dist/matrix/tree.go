package matrix

import (
	"math/bits"
	"slices"

	"jmpi/kernels"
)

// tree is the binary tree in which n×n matrices, the values of the slabs, become one of all. It follows from
// the number of slabs alone. The value of a subtree lies on the device of its first slab. On the way down it
// may have fewer columns.
type tree struct {
	*Devices
	count, n int
	width    int // columns of a value that descend takes apart: n, or fewer
}

// subtree is that of the slabs from ≤ i < to.
type subtree struct{ from, to int }

func (v subtree) halves() (left, right subtree) {
	middle := (v.from + v.to + 1) / 2
	return subtree{v.from, middle}, subtree{middle, v.to}
}

// leaf does something with a slab and its value x, joint with the values x and y of the halves of a subtree.
type (
	leaf  func(dev *device, slab int, x kernels.Panel) error
	joint func(dev *device, v subtree, x, y kernels.Panel) error
)

// slabsOf returns the slabs from ≤ i < to of a device.
func (t tree) slabsOf(id int) (from, to int) {
	p := len(t.ranks)
	return (id*t.count + p - 1) / p, ((id+1)*t.count + p - 1) / p
}

// deviceOf returns the device of a slab.
func (t tree) deviceOf(slab int) int { return slab * len(t.ranks) / t.count }

// parts returns the largest subtrees that are on one device each, and those above them from the root on.
func (t tree) parts() (whole, shared []subtree) {
	var walk func(v subtree)
	walk = func(v subtree) {
		if t.deviceOf(v.from) == t.deviceOf(v.to-1) {
			whole = append(whole, v)
			return
		}
		shared = append(shared, v)
		left, right := v.halves()
		walk(left)
		walk(right)
	}
	walk(subtree{0, t.count})
	return whole, shared
}

// values are those of subtrees, by their first slab, on this rank's devices.
type values map[int]kernels.Panel

// room returns memory for the values of subtrees.
func (t tree) room(all []subtree) (values, error) {
	x := values{}
	for _, v := range all {
		if dev := t.here(t.deviceOf(v.from)); dev != nil {
			p, err := dev.panel(t.n, t.width)
			if err != nil {
				return nil, err
			}
			x[v.from] = p
		}
	}
	return x, nil
}

// free gives the memory of values back.
func (t tree) free(x values) error {
	for slab, p := range x {
		if err := t.here(t.deviceOf(slab)).release(p.Data); err != nil {
			return err
		}
	}
	return nil
}

// climb sets the value of each slab, joins those of the halves of each subtree to that of the left one, and
// returns the root's, on device 0. It is collective.
func (t tree) climb(set leaf, join joint) (root kernels.Panel, err error) {
	root = kernels.Panel{M: t.n, N: t.width}
	whole, shared := t.parts()
	x, err := t.room(whole)
	if err != nil {
		return root, err
	}
	err = t.eachWhole(whole, func(dev *device, v subtree, spare kernels.Panel) error {
		return climbOn(dev, v, x[v.from], spare, set, join)
	})
	if err != nil {
		return root, err
	}
	for _, v := range slices.Backward(shared) {
		if err := t.joinShared(v, x, join); err != nil {
			return root, err
		}
	}
	if t.here(0) != nil {
		root = x[0]
		delete(x, 0)
	}
	return root, t.free(x)
}

// descend does the reverse: part makes the values of the halves of each subtree from that of the whole, which
// stands where that of the left half will, and take gets those of the slabs. It is collective.
func (t tree) descend(root kernels.Panel, part joint, take leaf) error {
	whole, shared := t.parts()
	x, err := t.room(whole)
	if err != nil {
		return err
	}
	if dev := t.here(0); dev != nil {
		if err := dev.Convert(x[0], root); err != nil {
			return err
		}
	}
	for _, v := range shared {
		if err := t.partShared(v, x, part); err != nil {
			return err
		}
	}
	err = t.eachWhole(whole, func(dev *device, v subtree, spare kernels.Panel) error {
		return descendOn(dev, v, x[v.from], spare, part, take)
	})
	if err != nil {
		return err
	}
	return t.free(x)
}

// eachWhole calls f for the subtrees of this rank's devices, with room for one value on each level.
func (t tree) eachWhole(whole []subtree, f func(dev *device, v subtree, spare kernels.Panel) error) error {
	return t.each(func(i int, dev *device) error {
		from, to := t.slabsOf(t.first + i)
		if from == to {
			return nil
		}
		spare, err := dev.panel(t.n, t.width*bits.Len(uint(to-from-1)))
		if err != nil {
			return err
		}
		for _, v := range whole {
			if v.from >= from && v.to <= to {
				if err := f(dev, v, spare); err != nil {
					return err
				}
			}
		}
		return dev.release(spare.Data)
	})
}

// climbOn makes the value x of a subtree on its device.
func climbOn(dev *device, v subtree, x, spare kernels.Panel, set leaf, join joint) error {
	if v.to-v.from == 1 {
		return set(dev, v.from, x)
	}
	left, right := v.halves()
	if err := climbOn(dev, left, x, spare, set, join); err != nil {
		return err
	}
	y := spare.Columns(0, x.N)
	if err := climbOn(dev, right, y, spare.Columns(x.N, spare.N), set, join); err != nil {
		return err
	}
	return join(dev, v, x, y)
}

// descendOn takes the value x of a subtree apart on its device.
func descendOn(dev *device, v subtree, x, spare kernels.Panel, part joint, take leaf) error {
	if v.to-v.from == 1 {
		return take(dev, v.from, x)
	}
	left, right := v.halves()
	y := spare.Columns(0, x.N)
	if err := part(dev, v, x, y); err != nil {
		return err
	}
	if err := descendOn(dev, left, x, spare.Columns(x.N, spare.N), part, take); err != nil {
		return err
	}
	return descendOn(dev, right, y, spare.Columns(x.N, spare.N), part, take)
}

// joinShared joins the values of the halves of a subtree that is on several devices.
func (t tree) joinShared(v subtree, x values, join joint) error {
	left, right := v.halves()
	from, to := t.deviceOf(right.from), t.deviceOf(left.from)
	dev, y := t.here(to), x[right.from]
	if from != to {
		landed, free, err := t.landing(dev)
		if err == nil {
			err = t.fly(flight{from: from, to: to, m: t.n, n: t.width, src: y, dst: landed, free: free})
		}
		if err != nil {
			return err
		}
		y = landed
	}
	if dev == nil {
		return nil
	}
	return join(dev, v, x[left.from], y)
}

// partShared takes apart the value of a subtree that is on several devices.
func (t tree) partShared(v subtree, x values, part joint) error {
	left, right := v.halves()
	from, to := t.deviceOf(left.from), t.deviceOf(right.from)
	dev, y := t.here(from), x[right.from]
	if from == to {
		if dev == nil {
			return nil
		}
		return part(dev, v, x[left.from], y)
	}
	leaving, _, err := t.landing(dev)
	if err == nil && dev != nil {
		err = part(dev, v, x[left.from], leaving)
	}
	if err != nil {
		return err
	}
	f := flight{from: from, to: to, m: t.n, n: t.width, src: leaving, dst: y}
	if dev := t.here(to); dev != nil {
		if f.free, err = dev.Mark(); err != nil {
			return err
		}
	}
	return t.fly(f)
}

// landing returns room on a device for a value from another device, or for it, and when it may be written.
func (t tree) landing(dev *device) (kernels.Panel, kernels.Mark, error) {
	if dev == nil {
		return kernels.Panel{M: t.n, N: t.width}, 0, nil
	}
	return dev.inbox.next(dev, t.n, t.width)
}
