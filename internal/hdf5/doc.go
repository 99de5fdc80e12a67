// Package hdf5 looks into HDF5 files, and makes them, by the HDF5 library, which is opened at run time.
//
// The library may crash, or never return, on a damaged file. So it never runs in the process that wants
// something of a file, but in a child of it: the same program, started with the argument ChildArgument. Serve
// is the whole life of a child. What it says of a file comes back as plain values. Numbers that only the
// library can unpack come back through memory that both processes have. If the child dies, that is an error
// like any other. A child takes only so much memory, and only so much processor time for a request. It ends
// when its parent does.
//
// The library is serial. A child has one thread that calls it, and a File of the parent sends one request at
// a time. The library's locks on files are switched off: many ranks open one file.
//
// The variable JMPI_HDF5 names the library. Otherwise the names are tried that distributions have for the
// versions from 1.10 on; before that identifiers of the library had 32 bits.
package hdf5
