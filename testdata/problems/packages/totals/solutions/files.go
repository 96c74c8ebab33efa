package main

import (
	"os"
	"strconv"
	"strings"
)

func main() {
	text, err := os.ReadFile("totals.in")
	if err != nil {
		panic(err)
	}
	sum := 0
	for _, word := range strings.Fields(string(text))[1:] {
		n, err := strconv.Atoi(word)
		if err != nil {
			panic(err)
		}
		sum += n
	}
	if err := os.WriteFile("totals.out", []byte(strconv.Itoa(sum)+"\n"), 0o644); err != nil {
		panic(err)
	}
}
