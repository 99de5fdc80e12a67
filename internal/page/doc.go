// Package page makes one HTML page of a folder of results, for people to look at: what the run was, how it
// converged, the singular values, where the time and the memory went, and which device worked on what.
//
// The page needs nothing but itself: style and figures are in it, it has no script, and it forbids the
// browser to load anything (Content-Security-Policy). It follows the reader's choice of light or dark, fits a
// phone, and prints in black on white.
//
// # Figures
//
// Plots come from gonum/plot as SVG (plot.go). It writes each color as a number. The colors of package page
// are numbers that stand for colors of the style sheet (svg.go), so that one figure serves light, dark and
// paper. Every figure has a text that says what it shows, for those who do not see it. The map of the
// exchange is drawn by the template, as Fig. 5.1 of [Nov15] has it (exchange.go).
//
// # Old results
//
// A folder of an earlier version may lack fields of info.json. Then the page lacks what is made of them.
package page
