package rivals

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ebitengine/purego"
)

// asRank names the variable that makes this test binary one MPI rank of TestScaLAPACK.
const asRank = "JMPI_TEST_RIVALS"

func TestMain(m *testing.M) {
	if os.Getenv(asRank) != "" {
		runtime.LockOSThread()
		os.Exit(rankMain())
	}
	os.Exit(m.Run())
}

// world is MPI as far as the test needs it.
type world struct {
	finalize   uintptr
	rank, size int
}

func startMPI() (world, error) {
	mpi, err := open("libmpi.so.40")
	if err != nil {
		return world{}, err
	}
	start, err := mpi.symbol("MPI_Init")
	if err != nil {
		return world{}, err
	}
	var w world
	if w.finalize, err = mpi.symbol("MPI_Finalize"); err != nil {
		return world{}, err
	}
	if code, _, _ := purego.SyscallN(start, 0, 0); int32(code) != 0 {
		return world{}, fmt.Errorf("MPI_Init: %d", int32(code))
	}
	_, err = fmt.Sscan(os.Getenv("OMPI_COMM_WORLD_RANK")+" "+os.Getenv("OMPI_COMM_WORLD_SIZE"), &w.rank, &w.size)
	return w, err
}

// rankMain decomposes several matrices and prints on rank 0 what TestScaLAPACK compares.
func rankMain() int {
	w, err := startMPI()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	s, err := OpenScaLAPACK()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	s.Threads, s.Block = 1, 8
	if w.rank == 0 {
		fmt.Println("library", s)
	}
	for _, shape := range scalapackShapes {
		m, n := shape[0], shape[1]
		a := gauss(m, n)
		r, err := s.SVD(w.rank, w.size, m, n, func(j0, j1 int, dst []float64, ld int) {
			for j := j0; j < j1; j++ {
				copy(dst[(j-j0)*ld:][:m], a[j*m:])
			}
		})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		if w.rank != 0 {
			if r.U != nil || r.V != nil {
				fmt.Println("rank", w.rank, "has U or V")
				return 1
			}
			continue
		}
		fmt.Printf("result %x %x %x\n", r.Sigma, r.U, r.V)
	}
	purego.SyscallN(w.finalize)
	return 0
}

var scalapackShapes = [][2]int{{40, 30}, {30, 40}, {33, 33}, {1, 1}, {5, 70}}

// Residual and orthogonality on 1, 2 and 4 ranks (grids 1×1, 1×2, 2×2), and the σ of LAPACK.
func TestScaLAPACK(t *testing.T) {
	path, err := exec.LookPath("mpirun")
	if err != nil {
		t.Skip("skipped: mpirun is not installed")
	}
	if _, err := purego.Dlopen("libscalapack-openmpi.so.2.2", purego.RTLD_LAZY); err != nil {
		t.Skipf("skipped: %v", err)
	}
	l := openOrSkip(t)
	for _, ranks := range []string{"1", "2", "4"} {
		t.Run(ranks+" ranks", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
			defer cancel()
			run := exec.CommandContext(ctx, path, "--oversubscribe", "-np", ranks, os.Args[0])
			run.Env = append(os.Environ(), asRank+"=1", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
			run.WaitDelay = time.Second
			out, err := run.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if len(lines) != 1+len(scalapackShapes) {
				t.Fatalf("%d lines, want %d:\n%s", len(lines), 1+len(scalapackShapes), out)
			}
			if name := lines[0]; !strings.Contains(name, "OpenBLAS") || !strings.Contains(name, "openblas") {
				t.Errorf("%q does not name OpenBLAS and its file", name)
			}
			for i, shape := range scalapackShapes {
				m, n := shape[0], shape[1]
				a := gauss(m, n)
				got := parseResult(t, lines[i+1], min(m, n), m, n)
				checkSVD(t, m, n, a, got)
				want, err := l.SVD("dgesdd", m, n, a)
				if err != nil {
					t.Fatal(err)
				}
				for j, sigma := range want.Sigma {
					if e := math.Abs(got.Sigma[j] - sigma); !(e <= 100*eps*want.Sigma[0]) {
						t.Errorf("%d×%d: σ%d = %g, LAPACK has %g", m, n, j+1, got.Sigma[j], sigma)
					}
				}
			}
		})
	}
}

// parseResult reads a line "result [σ…] [U…] [V…]" of rankMain.
func parseResult(t *testing.T, line string, k, m, n int) Result {
	t.Helper()
	fields := strings.Fields(strings.NewReplacer("[", " ", "]", " ").Replace(line))
	if len(fields) != 1+k+m*k+n*k || fields[0] != "result" {
		t.Fatalf("%d fields in %.80q, want %d", len(fields), line, 1+k+m*k+n*k)
	}
	x := make([]float64, len(fields)-1)
	for i, f := range fields[1:] {
		if _, err := fmt.Sscan(f, &x[i]); err != nil {
			t.Fatal(err)
		}
	}
	return Result{Sigma: x[:k], U: x[k : k+m*k], V: x[k+m*k:]}
}

func TestScaLAPACKNeedsMPI(t *testing.T) {
	if _, err := purego.Dlsym(purego.RTLD_DEFAULT, "MPI_Initialized"); err == nil {
		t.Skip("skipped: MPI is in this process")
	}
	if _, err := OpenScaLAPACK(); err == nil || !strings.Contains(err.Error(), "MPI") {
		t.Errorf("without MPI: error %v", err)
	}
}
