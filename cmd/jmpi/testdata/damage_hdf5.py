"""Writes argv[3] damaged HDF5 files into the folder argv[1], by the seed argv[2]: NNNN.h5. Where h5py can
read a matrix in one, NNNN.npy has it. Each is read in a process of its own, since the library may crash."""

import os
import random
import resource
import sys
import warnings

import h5py
import numpy as np

warnings.simplefilter("ignore")
folder, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random.seed(seed)
A = np.round(100 * np.random.default_rng(seed).standard_normal((9, 7)))


def image(write, **how):
    path = os.path.join(folder, "good")
    with h5py.File(path, "w", **how) as f:
        write(f)
    with open(path, "rb") as f:
        content = f.read()
    os.remove(path)
    return content


def matlab(f):
    f.create_dataset("A", data=A.T, chunks=(3, 4), compression="gzip")
    f["A"].attrs["MATLAB_class"] = np.bytes_("double")


def compact(f):
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple(A.shape)
    data = h5py.h5d.create(f.id, b"A", h5py.h5t.IEEE_F64LE, space, plist)
    data.write(h5py.h5s.ALL, h5py.h5s.ALL, A)


packed = dict(chunks=(2, 3), compression="gzip", shuffle=True)
images = [
    image(lambda f: f.create_dataset("A", data=A)),
    image(lambda f: f.create_dataset("A", data=A.astype(">f4"))),
    image(lambda f: f.create_dataset("A", data=A.astype("i2"))),
    image(lambda f: f.create_dataset("A", data=A, **packed)),
    image(lambda f: f.create_dataset("A", data=A, fletcher32=True, **packed)),
    image(lambda f: f.create_dataset("A", data=A, chunks=(4, 7))),
    image(lambda f: f.create_dataset("A", data=A, **packed), libver="latest"),
    image(lambda f: f.create_dataset("A", data=A, maxshape=(None, None), **packed), libver="latest"),
    image(lambda f: f.create_dataset("g/h/A", data=A, **packed)),
    image(matlab, userblock_size=512),
    image(compact),
]


def damage(content):
    b = bytearray(content)
    places = [k for k in range(len(b)) if b[k]]  # where there is something
    for _ in range(random.choice([1, 1, 1, 2, 3, 8])):
        k = random.choice(places) if random.random() < 0.7 else random.randrange(len(b))
        k = min(k, len(b) - 1)
        kind = random.randrange(7)
        if kind == 0:
            b[k] ^= 1 << random.randrange(8)
        elif kind == 1:
            b[k] = random.choice([0, 1, 2, 3, 4, 8, 127, 128, 255])
        elif kind == 2:
            word = random.choice([0, 1, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1])
            b[k : k + 8] = word.to_bytes(8, "little")
        elif kind == 3:
            n = random.randrange(1, 64)
            j = random.randrange(len(b))
            b[k : k + n] = b[j : j + n]
        elif kind == 4 and random.random() < 0.3:
            del b[random.randrange(len(b)) :]
            b = b or bytearray(1)
        elif kind == 5 and random.random() < 0.3:
            del b[k : k + random.randrange(1, 16)]
            b = b or bytearray(1)
        else:
            b[k : k + 4] = random.randrange(2**32).to_bytes(4, "little")
    return bytes(b)


def read(path):
    """Writes what h5py reads, as jmpi chooses the data set."""
    sets = []

    def search(group):
        for name in group:  # as bytes, which need not be a text
            if group.links.get_info(name).type != h5py.h5l.TYPE_HARD or name.startswith(b"#"):
                continue
            item = h5py.h5o.open(group, name)
            if isinstance(item, h5py.h5g.GroupID):
                search(item)
            elif isinstance(item, h5py.h5d.DatasetID) and item.get_space().get_simple_extent_ndims() == 2:
                sets.append(h5py.Dataset(item))

    with h5py.File(path, "r") as f:
        search(f.id)
        (item,) = sets
        if item.size > 10000:
            return
        x = item[:].astype(float)
        if "MATLAB_class" in item.attrs:
            x = x.T
        np.save(path[:-3] + ".npy", x)


for k in range(count):
    path = os.path.join(folder, "%04d.h5" % k)
    with open(path, "wb") as f:
        f.write(damage(images[k % len(images)]))
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        try:
            read(path)
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        print("%04d: signal %d" % (k, os.WTERMSIG(status)))
