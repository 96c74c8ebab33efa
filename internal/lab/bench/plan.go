package bench

import "math/rand/v2"

// Plan returns the order of runs: a random order of the places for every round. The same seed gives the same plan.
func Plan(rounds, places int, seed uint64) [][]int {
	r := rand.New(rand.NewPCG(seed, 0))
	plan := make([][]int, rounds)
	for i := range plan {
		plan[i] = r.Perm(places)
	}
	return plan
}
