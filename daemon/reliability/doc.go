// Package reliability holds what can go wrong and what must then happen: 48
// faults and 24 goals. Tests say which fault they inject and what they
// measured; gen turns that into docs/reliability.md.
//
//	[1] a test calls Fault or Figure
//	[2] when it ends, its result is appended to a file in RELIABILITY_DIR, if that is set
//	[3] "make reliability" runs all tests so and writes the page
//	[4] TestPageNamesEveryTest fails when page and tests no longer agree
//
// Only tests and gen import it.
package reliability
