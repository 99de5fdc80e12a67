package comm_test

import (
	"testing"

	"jmpi/dist/comm"
)

func TestLibraryName(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022",
			"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022"},
		{"MPICH Version:    \t4.0.2\nMPICH Release date:\tThu Apr  7 2022\nMPICH ABI:        \t14:2:2\n" +
			"MPICH Device:    \tch4:ucx\nMPICH configure: \t--prefix=/usr CC= F77=\nMPICH CC: \tgcc -O2\n" +
			"MPICH CXX: \tg++ -O2\nMPICH F77: \tgfortran\nMPICH FC: \tgfortran\nMPICH Custom Information: \t\n",
			"MPICH Version: 4.0.2, MPICH ABI: 14:2:2, MPICH Device: ch4:ucx"},
		{"MVAPICH2 Version      :\t2.3.7\nMVAPICH2 configure    :\t--prefix=/opt\nMVAPICH2 CC           :\tgcc\n",
			"MVAPICH2 Version : 2.3.7"},
		{"Intel(R) MPI Library 2021.12 for Linux* OS\n", "Intel(R) MPI Library 2021.12 for Linux* OS"},
		{"", ""},
	} {
		if got := comm.LibraryName(c.text); got != c.want {
			t.Errorf("%q is %q, want %q", c.text, got, c.want)
		}
	}
}
