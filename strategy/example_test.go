package strategy_test

import (
	"fmt"

	"jmpi/strategy"
)

func ExampleNew() {
	table, err := strategy.New("rev-rowcyc", 6)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(table)
	// Output:
	// 4-5 2-3 1-6
	// 3-6 2-4 1-5
	// 3-5 2-6 1-4
	// 4-6 2-5 1-3
	// 5-6 3-4 1-2
}

func ExampleTable_Expand() {
	table, err := strategy.New("rowcyc", 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	blocks, err := table.Expand()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(blocks)
	// Output:
	// 1-2 3-4 5-6 7-8
	// 1-3 2-4 5-7 6-8
	// 1-4 2-3 5-8 6-7
	// 1-5 2-6 3-7 4-8
	// 1-6 2-5 3-8 4-7
	// 1-7 2-8 3-5 4-6
	// 1-8 2-7 3-6 4-5
}
