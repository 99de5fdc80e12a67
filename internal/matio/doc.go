// Package matio reads and writes the matrix files of a distributed solver: every rank reads and writes only
// its own columns or rows, by explicit reads and writes at offsets, so no rank ever holds the whole matrix.
//
// # Layout
//
// A dense file is a sequence of elements after a header of base bytes. Both storage orders are one
// thing seen from two sides: the file is a sequence of lines of equal length, which are the rows
// in C order and the columns in Fortran order. Element q of line l, 0-based, of size s bytes is at
//
//	base + s·(l·length + q)
//
// A part of the matrix is the segment [q0, q1) of the lines [l0, l1). Where the lines are the columns of what
// the caller wants, segments are read straight into the caller's memory. Otherwise many lines are gathered in
// a buffer that fits in the cache and are transposed from there in small tiles. Short gaps between two
// segments are read through, because another system call costs more than the bytes in the gap.
//
// Elements are widened in place: n elements of s ≤ 8 bytes are read into the last n·s of 8·n bytes,
// and element k, at byte 8n − (n−k)s, is read before the float64 written to bytes
// [8k, 8k+8) reaches it, for (n−k)(8−s) ≥ 0.
//
// # Formats that are read
//
// The extension of the file's name tells the format.
//
//   - .npy, versions 1.0, 2.0 and 3.0 (numpy.lib.format), C or Fortran order, little, big or native endian:
//     float64, float32, float16, int and uint of 8 to 64 bits and bool, all widened to float64 (integers
//     beyond 2⁵³ are rounded to nearest). Complex numbers, objects, structures and other than two
//     dimensions are refused; OpenVector takes one dimension of m elements as an m×1 matrix. The file's
//     length must be exactly what the header says.
//
//   - .mtx, Matrix Market (Boisvert, Pozo, Remington, NISTIR 5935, 1996): array or coordinate; real,
//     integer, unsigned-integer, or pattern (each entry is 1); general, symmetric, skew-symmetric, or
//     hermitian, which is symmetric for real numbers. Of a symmetric matrix only the lower triangle is
//     stored, of a skew-symmetric one only the part strictly below the diagonal; an entry elsewhere is an
//     error, since mirroring a file that stores both triangles would double it. Two entries of a coordinate
//     file for one place are an error with both lines: the format does not say what they mean. So is a
//     number that is not 0 and would become 0 in float64. Blank lines and lines that begin with % may be
//     anywhere after the first line. Lines end with LF, CR LF or CR; spaces and tabs separate the fields; a
//     byte-order mark of UTF-8 is skipped. Numbers are decimal, as C or Fortran writes them (1.5e-3,
//     1.5D-03). The text has no index: each call reads the whole file once and converts only the values it
//     wants, so parts should be few and large.
//
//   - NAME.MxN.rowmajor.f64 and NAME.MxN.colmajor.f64: an M×N matrix of little-endian float64, no header, row
//     by row or column by column, as a.1000x500.rowmajor.f64. A name without the order is refused: half of
//     the files would be read transposed.
//
//   - .h5, .hdf5, .mat (MATLAB 7.3), with ":/SET" behind or without: a data set of an HDF5 file, by package
//     hdf5. One in a piece is read as the files above are. Tiles of a packed one are unpacked and kept for a
//     while; Band says in which order to read. A data set with the attribute MATLAB_class is transposed.
//
// Every number of a part is checked while it is in the cache: a NaN or an infinity is a NotFiniteError with
// its position, and in a text an Error with its line. A damaged file is an Error that says where and what to
// do. No memory is allocated by a size that a file claims and its length does not support.
//
// # Changes and copies
//
// The inode, the size and the time of the last write make the Stamp of an open file. It is compared with that
// at the opening after each part that is read. A file that was written to meanwhile is an Error. Bytes come
// from read calls, not from a memory map, so a file that becomes shorter is an error, not a signal. A
// Checksum tells whether two hosts have the same file.
//
// # Files that are written
//
// Matrices are .npy version 1.0, float64, little endian, Fortran order; vectors have one dimension. A file
// has its full length from the start, and any number of processes may write disjoint parts of it.
package matio
