package matio

import (
	"fmt"
	"path/filepath"
	"strings"
)

// supported says which names matrices have.
const supported = "matrices are read from NAME.npy, NAME.mtx, NAME.h5:/SET, NAME.mat, " +
	"NAME.MxN.rowmajor.f64 and NAME.MxN.colmajor.f64"

// loaders are the formats that are known and not read, by their extensions, with what reads them in Python:
// what is imported, and an expression in which FILE stands for the name of the file.
var loaders = map[string]struct{ imports, load string }{
	".csv":     {"", "np.loadtxt(FILE, delimiter=',', ndmin=2)"},
	".tsv":     {"", `np.loadtxt(FILE, delimiter='\t', ndmin=2)`},
	".txt":     {"", "np.loadtxt(FILE, ndmin=2)"},
	".dat":     {"", "np.loadtxt(FILE, ndmin=2)"},
	".nc":      {"xarray", "xarray.open_dataset(FILE)['A'].to_numpy()"},
	".npz":     {"", "np.load(FILE)['arr_0']"},
	".parquet": {"pandas", "pandas.read_parquet(FILE).to_numpy(dtype=float)"},
	".xlsx":    {"pandas", "pandas.read_excel(FILE, header=None).to_numpy(dtype=float)"},
	".pt":      {"torch", "torch.load(FILE).numpy()"},
	".pkl":     {"", "np.asarray(np.load(FILE, allow_pickle=True), dtype=float)"},
	".json":    {"json", "np.array(json.load(open(FILE)), dtype=float)"},
	".f32":     {"", "np.fromfile(FILE, 'float32').reshape(ROWS, COLUMNS)"},
}

// inside says what must be changed in the line for files that hold several arrays.
var inside = map[string]string{
	".nc": ", where A is the name of the variable", ".npz": ", where arr_0 is the name of the array",
	".f32": ", with the numbers of rows and columns",
}

// unknownFormat says what to do with a file of another format.
func unknownFormat(path string) string {
	extension := filepath.Ext(path)
	kind := strings.ToLower(extension)
	stem := strings.TrimSuffix(path, extension)
	switch l, known := loaders[kind]; {
	case known:
		load := strings.ReplaceAll(l.load, "FILE", quote(path))
		line := fmt.Sprintf("np.save(%s, %s)", quote(stem+".npy"), load)
		return fmt.Sprintf("%s is not read; convert it: %s%s", kind, python(l.imports, line), inside[kind])
	case kind == ".bin" || kind == ".raw":
		return fmt.Sprintf("%s is not read; if it holds float64 numbers, row by row, name it so, with its rows "+
			"and columns for MxN: mv %s %s", kind, ShellWord(path), ShellWord(stem+".MxN.rowmajor.f64"))
	case kind == ".gz":
		return fmt.Sprintf("compressed files are not read; type gunzip %s", ShellWord(path))
	}
	return "unknown format; " + supported
}

// python is a line for a shell that runs a statement with NumPy as np.
func python(imports, statement string) string {
	if imports != "" {
		imports = ", " + imports
	}
	return fmt.Sprintf(`python3 -c "import numpy as np%s; %s"`, imports, statement)
}

// quote returns a string of Python that may stand between the double quotes of a shell.
func quote(path string) string {
	var b strings.Builder
	for _, r := range path {
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\\` + string(r))
		case strings.ContainsRune("\"$`", r):
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return "'" + b.String() + "'"
}
