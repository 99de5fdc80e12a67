// Package disttest is what the tests of package dist and of the packages below it share.
//
//	Generate         a test matrix of package gen, in memory
//	Orthogonality    ‖QᵀQ − I‖_F in units of n·ε
//	Dot              a product of two columns in twice the working precision: it judges those of the solver
//	Apart            a CPU device that says that its memory is not host memory. So messages are staged,
//	                 and memory is counted, as with a GPU, where there is none. It refuses addresses of the
//	                 wrong kind of memory
//	Falling          a device apart that is lost at a call that can be chosen
//	Lagging          a device apart that queues its work, as a GPU does, and does it as late as it may
//	OpenRank         devices apart, and a Comm that fails the test if a message lies elsewhere than in their
//	                 pinned memory
//	Leftovers        what devices apart have not got back
//	GPUs             the number of GPUs; without any the test is skipped
//
// Nothing here belongs to the program.
package disttest
