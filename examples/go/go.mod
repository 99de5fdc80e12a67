module example

go 1.26.0

require (
	gonum.org/v1/gonum v0.17.0
	jmpi v0.0.0
)

// Where the clone of jmpi lies.
replace jmpi => ../..
