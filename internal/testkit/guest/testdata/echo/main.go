// Command echo writes the file argv[1] to standard output and its bytes in
// reverse to standard error, then ends with exit code argv[2].
package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
)

func main() {
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	code, err := strconv.Atoi(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Stdout.Write(data)
	slices.Reverse(data)
	os.Stderr.Write(data)
	os.Exit(code)
}
