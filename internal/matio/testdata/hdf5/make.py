"""Writes HDF5 files of many kinds into the folder argv[1], and beside each NAME.h5 the matrix that it has as
NAME.npy; files that must be refused have no .npy. A name may end in "@SET" for the data set to be named."""

import os
import sys

import h5py
import numpy as np

folder = sys.argv[1]
rng = np.random.default_rng(5)
A = rng.standard_normal((61, 43))


def path(name, kind="h5"):
    return os.path.join(folder, name.split("@")[0] + "." + kind)


def keep(name, matrix):
    np.save(os.path.join(folder, name.replace("/", "_") + ".npy"), np.asarray(matrix, dtype=float))


def write(name, matrix, **how):
    """A file with one data set, A."""
    with h5py.File(path(name), "w") as f:
        f.create_dataset("A", data=matrix, **how)
    keep(name, matrix)


def refuse(name, make):
    with h5py.File(path("bad_" + name), "w") as f:
        make(f)


write("contiguous", A)
write("chunked", A, chunks=(8, 5))
write("gzip", A, chunks=(8, 5), compression="gzip")
write("shuffled", A, chunks=(16, 16), compression="gzip", shuffle=True, fletcher32=True)
write("rows", A, chunks=(1, 43), compression="gzip")
write("columns", A, chunks=(61, 1), compression="gzip", shuffle=True)
write("whole", A, chunks=(61, 43), compression="gzip", compression_opts=9)
write("checksum", A, chunks=(10, 43), fletcher32=True)
write("single", A.astype("f4"), chunks=(8, 5), compression="gzip")
write("half", A.astype("f2"))
write("halfpacked", A.astype("f2"), chunks=(8, 5), compression="gzip", shuffle=True)
write("big", A.astype(">f8"))
write("bigpacked", A.astype(">f4"), chunks=(8, 5), compression="gzip", shuffle=True)
for code in "i1 i2 i4 i8 u1 u2 u4 u8 >i4 >u2".split():
    numbers = np.round(30 * A if "i" in code else 30 * np.abs(A)).astype(code)
    write("integer" + code.replace(">", "b"), numbers)
    write("packed" + code.replace(">", "b"), numbers, chunks=(9, 11), compression="gzip", shuffle=True)
write("truth", A > 0)
write("row", A[:1])
write("column", A[:, :1], chunks=(7, 1), compression="gzip")
write("none", np.empty((0, 7)))
write("scaled", np.round(30 * A).astype("i4"), chunks=(16, 16), scaleoffset=0)
write("unlimited", A, chunks=(8, 5), maxshape=(None, None), compression="gzip")



def replace(name, old, new):
    with open(path(name), "rb") as f:
        image = f.read()
    assert image.count(old) == 1
    with open(path(name), "wb") as f:
        f.write(image.replace(old, new))


# The filter says that it has sorted the bytes of numbers of half the size: so they are put together.
write("resorted", np.round(3000 * A).astype("i4"), chunks=(8, 5), shuffle=True)
replace("resorted", b"shuffle\0\4\0\0\0", b"shuffle\0\2\0\0\0")
with h5py.File(path("resorted"), "r") as f:
    assert (f["A"][:] != np.round(3000 * A)).any()
    keep("resorted", f["A"][:])
# zlib has no level 12.
packed = dict(data=A, chunks=(8, 5), compression="gzip", compression_opts=7)
refuse("level", lambda f: f.create_dataset("A", **packed))
replace("bad_level", b"deflate\0\7\0\0\0", b"deflate\0\x0c\0\0\0")

with h5py.File(path("latest"), "w", libver="latest") as f:
    f.create_dataset("A", data=A, chunks=(8, 5), maxshape=(None, 43), compression="gzip")
keep("latest", A)
with h5py.File(path("groups@g_B"), "w") as f:
    f.create_dataset("g/B", data=A)
    f["A"] = A.T
    f["link"] = h5py.SoftLink("/g/B")
keep("groups@g_B", A)
keep("groups@link", A)
with h5py.File(path("only"), "w") as f:
    f["g/h/vector"] = np.arange(4.0)
    f["g/h/A"] = A
    f["text"] = "a text"
    f["elsewhere"] = h5py.ExternalLink("nothing.h5", "/A")
keep("only", A)
with h5py.File(path("unwritten"), "w") as f:
    f.create_dataset("A", (12, 9), "f8", fillvalue=2.5)
keep("unwritten", np.full((12, 9), 2.5))
with h5py.File(path("partly"), "w") as f:
    f.create_dataset("A", (61, 43), "f8", chunks=(8, 5), compression="gzip", fillvalue=-1)
    f["A"][10:20, 3:9] = A[10:20, 3:9]
partly = np.full((61, 43), -1.0)
partly[10:20, 3:9] = A[10:20, 3:9]
keep("partly", partly)
with h5py.File(path("compact"), "w") as f:
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((5, 4))
    data = h5py.h5d.create(f.id, b"A", h5py.h5t.IEEE_F64LE, space, plist)
    data.write(h5py.h5s.ALL, h5py.h5s.ALL, A[:5, :4].copy())
keep("compact", A[:5, :4])


def matlab(name, matrix, kind, **how):
    """A file as MATLAB 7.3 writes it: 512 bytes of text, and matrices the other way round."""
    with h5py.File(path(name, "mat"), "w", userblock_size=512) as f:
        f.create_dataset("A", data=np.ascontiguousarray(np.asarray(matrix).T), **how)
        f["A"].attrs["MATLAB_class"] = np.bytes_(kind)
    with open(path(name, "mat"), "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\0\2IM")
    keep(name, matrix)


matlab("matlab", A, "double")
matlab("matlabpacked", A, "double", chunks=(5, 8), compression="gzip")
matlab("matlabsingle", A.astype("f4"), "single")
matlab("matlabint", np.round(30 * A).astype("i2"), "int16")
matlab("matlablogical", (A > 0).astype("u1"), "logical")
with h5py.File(path("matlabempty", "mat"), "w", userblock_size=512) as f:
    f.create_dataset("A", data=np.array([0, 5], "u8"))
    f["A"].attrs["MATLAB_class"] = np.bytes_("double")
    f["A"].attrs["MATLAB_empty"] = np.uint32(1)
keep("matlabempty", np.empty((0, 5)))

# For the test of how often it is unpacked; its numbers are of no matter.
with h5py.File(path("large"), "w") as f:
    f.create_dataset("A", data=np.zeros((1500, 1000)), chunks=(40, 1000), compression="gzip")
with h5py.File(path("large", "mat"), "w", userblock_size=512) as f:
    f.create_dataset("A", data=np.zeros((1500, 1000)), chunks=(300, 200), compression="gzip")
    f["A"].attrs["MATLAB_class"] = np.bytes_("double")

refuse("text", lambda f: f.create_dataset("A", data=np.array([[b"ab", b"cd"]])))
refuse("complex", lambda f: f.create_dataset("A", data=A + 1j))
refuse("compound", lambda f: f.create_dataset("A", (2, 2), [("x", "f8"), ("y", "i4"), ("z", "i4")]))
refuse("scalar", lambda f: f.create_dataset("A", data=3.5))
refuse("vector", lambda f: f.create_dataset("A", data=np.arange(5.0)))
refuse("cube", lambda f: f.create_dataset("A", data=np.zeros((2, 3, 4))))
refuse("lzf", lambda f: f.create_dataset("A", data=A, chunks=(8, 5), compression="lzf"))
refuse("nan", lambda f: f.create_dataset("A", data=np.where(A == A[60, 42], np.nan, A), chunks=(8, 5)))
refuse("inf", lambda f: f.create_dataset("A", data=np.where(A == A[60, 42], np.inf, A)))
refuse("several", lambda f: (f.create_dataset("A", data=A), f.create_dataset("B", data=A)))
refuse("nothing", lambda f: None)
refuse("null", lambda f: f.create_dataset("A", data=h5py.Empty("f8")))
refuse("reference", lambda f: f.create_dataset("A", (2, 2), dtype=h5py.ref_dtype))
refuse("external", lambda f: f.create_dataset("A", (5, 5), "f8", external=[(path("outside", "bin"), 0, 200)]))
with h5py.File(path("bad_virtual"), "w", libver="latest") as f:
    layout = h5py.VirtualLayout((61, 43), "f8")
    layout[:] = h5py.VirtualSource(path("contiguous"), "A", (61, 43))
    f.create_virtual_dataset("A", layout)
with open(path("contiguous"), "rb") as f:
    whole = f.read()
with open(path("bad_short"), "wb") as f:
    f.write(whole[:-1000])
with open(path("bad_none"), "wb") as f:
    f.write(b"no such file " * 100)
with open(path("bad_old", "mat"), "wb") as f:
    f.write(b"MATLAB 5.0 MAT-file, Platform: GLNXA64".ljust(124) + b"\0\1IM" + bytes(100))
for name, kind in ("char", "u2"), ("cell", "u8"):
    with h5py.File(path("bad_" + name, "mat"), "w", userblock_size=512) as f:
        f.create_dataset("A", data=np.ones((2, 3), kind))
        f["A"].attrs["MATLAB_class"] = np.bytes_(name)
with h5py.File(path("bad_sparse", "mat"), "w", userblock_size=512) as f:
    f.create_group("A").attrs["MATLAB_sparse"] = np.uint64(4)
    f["A/data"] = np.ones(3)


def ended(name, matrix, userblock=0, attributes=None, **how):
    """Files NAME.N.h5 whose superblock tells an end that is N bytes before that of the numbers."""
    attributes = attributes or {}
    whole = path("good")
    with h5py.File(whole, "w", libver="earliest", userblock_size=userblock) as f:
        f.create_dataset("A", data=matrix, **how).attrs.update(attributes)
    with open(whole, "rb") as f:
        image = bytearray(f.read())
    os.remove(whole)
    at = userblock + 40  # of the end in a superblock of version 0
    assert image[userblock + 8] == 0 and int.from_bytes(image[at : at + 8], "little") == len(image)
    for less in 1, 7, np.asarray(matrix).nbytes if not how else 200:
        image[at : at + 8] = (len(image) - less).to_bytes(8, "little")
        with open(path("ended_%s.%d" % (name, less)), "wb") as f:
            f.write(image)


ended("plain", A)
ended("big", A.astype(">f4"))
ended("user", A, 512)
ended("large", np.ones((500, 300)))
ended("matlab", A, 512, {"MATLAB_class": np.bytes_("double")})
none = {"MATLAB_class": np.bytes_("double"), "MATLAB_empty": np.uint32(1)}
ended("empty", np.array([0, 5], "u8"), 512, none)
ended("chunked", A, chunks=(8, 5))
ended("whole", np.ones((500, 300)), chunks=(500, 300))
ended("gzip", A, chunks=(8, 5), compression="gzip")
ended("scaled", np.round(30 * A).astype("i4"), chunks=(61, 43), scaleoffset=0)
ended("shuffled", A, 512, chunks=(8, 5), compression="gzip", shuffle=True, fletcher32=True)
