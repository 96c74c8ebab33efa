package front

import (
	"maps"
	"math"
	"slices"
	"time"
)

// pair is the result of judging one program on two hosts.
type pair struct {
	At       time.Time
	A, B     string  // hosts
	LogRatio float64 // of the time on B to that on A
}

// fittedHost describes by how much a host is slower than the median host of its pool.
type fittedHost struct {
	Name          string  `json:"name"`
	Effect        float64 `json:"effect_log"`
	StandardError float64 `json:"standard_error_log"`
	Pairs         int     `json:"pairs"`
}

// pairFit describes the hosts of a pool.
type pairFit struct {
	Hosts  []fittedHost `json:"hosts"`      // by name
	Noise  float64      `json:"noise_log"`  // standard deviation of one pair
	Spread float64      `json:"spread_log"` // standard deviation of the hosts' effects, excluding noise
}

// Host returns a host of the fit.
func (f pairFit) Host(name string) (fittedHost, bool) {
	for _, h := range f.Hosts {
		if h.Name == name {
			return h, true
		}
	}
	return fittedHost{}, false
}

const (
	// huber is the residual, in standard deviations, above which a pair has less weight. With normal residuals the
	// estimate has 95 % of the efficiency of least squares (Huber and Ronchetti, Robust Statistics, section 7.3).
	huber      = 1.345
	madToSigma = 1.4826
	// leastNoise avoids a division by zero if all residuals are equal.
	leastNoise = 1e-6
	rounds     = 20
	converged  = 0.01 // change of an effect, in standard deviations of a pair
)

// fitPairs estimates the effects of hosts, so that the effect of B minus that of A is close to the log ratio of their
// pairs. Huber's weights limit the influence of each pair. Hosts that no chain of pairs connects with most of the
// others are excluded, because they cannot be compared. Without pairs, the fit is empty.
func fitPairs(pairs []pair) pairFit {
	g := newGraph(pairs)
	if len(g.names) < 2 {
		return pairFit{}
	}
	weights := make([]float64, len(g.edges))
	for i := range weights {
		weights[i] = 1
	}
	var effects []float64
	noise := 0.0
	for range rounds {
		before := effects
		effects = g.solve(weights)
		noise = g.noise(effects)
		for i, e := range g.edges {
			weights[i] = min(1, huber*noise/max(math.Abs(e.residual(effects)), leastNoise*huber))
		}
		if before != nil && largestChange(before, effects) < converged*noise {
			break
		}
	}
	return g.fit(effects, noise)
}

// edge is a pair with the numbers of its hosts.
type edge struct {
	a, b int
	y    float64
}

func (e edge) residual(effects []float64) float64 { return e.y - (effects[e.b] - effects[e.a]) }

// graph is a connected set of hosts and the pairs between them.
type graph struct {
	names []string
	edges []edge
	ends  []int // number of pairs of each host
}

// newGraph returns the graph of the largest connected set of hosts.
func newGraph(pairs []pair) graph {
	group := map[string]string{} // union-find: parent of each host
	var find func(string) string
	find = func(h string) string {
		if group[h] == h || group[h] == "" {
			group[h] = h
			return h
		}
		root := find(group[h])
		group[h] = root
		return root
	}
	for _, p := range pairs {
		group[find(p.A)] = find(p.B)
	}
	sizes := map[string]int{}
	names := slices.Sorted(maps.Keys(group))
	largest := ""
	for _, h := range names {
		root := find(h)
		sizes[root]++
		if sizes[root] > sizes[largest] {
			largest = root
		}
	}
	g := graph{names: slices.DeleteFunc(names, func(h string) bool { return find(h) != largest })}
	g.ends = make([]int, len(g.names))
	index := map[string]int{}
	for i, h := range g.names {
		index[h] = i
	}
	for _, p := range pairs {
		a, known := index[p.A]
		b := index[p.B]
		if known && a != b {
			g.edges = append(g.edges, edge{a, b, p.LogRatio})
			g.ends[a]++
			g.ends[b]++
		}
	}
	return g
}

// normal returns the matrix of the normal equations, the weighted Laplacian of the graph. A constant makes it regular:
// of all solutions it selects the one with mean 0.
func (g graph) normal(weights []float64) (m [][]float64, constant float64) {
	n := len(g.names)
	total := 0.0
	m = make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
	}
	for i, e := range g.edges {
		w := weights[i]
		total += w
		m[e.a][e.a] += w
		m[e.b][e.b] += w
		m[e.a][e.b] -= w
		m[e.b][e.a] -= w
	}
	constant = total / float64(n*n)
	for i := range m {
		for j := range m[i] {
			m[i][j] += constant
		}
	}
	return m, constant
}

func (g graph) solve(weights []float64) []float64 {
	m, _ := g.normal(weights)
	right := make([]float64, len(g.names))
	for i, e := range g.edges {
		right[e.b] += weights[i] * e.y
		right[e.a] -= weights[i] * e.y
	}
	factor(m)
	return backSolve(m, right)
}

// noise returns the standard deviation of the residuals, estimated from their median absolute value. The fit has used
// as many degrees of freedom as it has hosts, minus one.
func (g graph) noise(effects []float64) float64 {
	sizes := make([]float64, len(g.edges))
	for i, e := range g.edges {
		sizes[i] = math.Abs(e.residual(effects))
	}
	n := float64(len(sizes))
	free := max(n-float64(len(g.names)-1), 1)
	return max(madToSigma*median(sizes)*math.Sqrt(n/free), leastNoise)
}

// fit returns the effects with their standard errors. The variance is Huber's asymptotic one: mean ψ² / (mean ψ')²,
// times the inverse of the Laplacian.
func (g graph) fit(effects []float64, noise float64) pairFit {
	var squares, inside float64
	ones := make([]float64, len(g.edges))
	for i, e := range g.edges {
		ones[i] = 1
		r := e.residual(effects)
		if math.Abs(r) <= huber*noise {
			inside++
		}
		clipped := max(-huber*noise, min(r, huber*noise))
		squares += clipped * clipped
	}
	n := float64(len(g.edges))
	free := max(n-float64(len(g.names)-1), 1)
	variance := squares / free / math.Pow(inside/n, 2)
	m, constant := g.normal(ones)
	factor(m)
	center := median(slices.Clone(effects))
	f := pairFit{Noise: noise}
	var centered []float64
	meanVariance := 0.0
	for i, name := range g.names {
		unit := make([]float64, len(g.names))
		unit[i] = 1
		inverse := backSolve(m, unit)[i] - 1/(constant*float64(len(g.names)*len(g.names)))
		own := variance * max(inverse, 0)
		meanVariance += own / float64(len(g.names))
		centered = append(centered, effects[i]-center)
		f.Hosts = append(f.Hosts, fittedHost{name, effects[i] - center, math.Sqrt(own), g.ends[i]})
	}
	observed := hostSigma(centered)
	f.Spread = math.Sqrt(max(observed*observed-meanVariance, 0))
	return f
}

// fewHosts are the factors that make madToSigma unbiased for 2 to 9 values (Croux and Rousseeuw 1992, Time-efficient
// algorithms for two highly robust estimators of scale).
var fewHosts = [...]float64{1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107}

// hostSigma returns the standard deviation of effects around their median, estimated from the MAD.
func hostSigma(centered []float64) float64 {
	sizes := make([]float64, len(centered))
	for i, x := range centered {
		sizes[i] = math.Abs(x)
	}
	n := len(sizes)
	correction := float64(n) / (float64(n) - 0.8)
	if n-2 < len(fewHosts) {
		correction = fewHosts[n-2]
	}
	return madToSigma * correction * median(sizes)
}

func largestChange(a, b []float64) float64 {
	largest := 0.0
	for i := range a {
		largest = max(largest, math.Abs(a[i]-b[i]))
	}
	return largest
}

// factor replaces a positive definite matrix with its Cholesky factor, in the lower triangle.
func factor(m [][]float64) {
	for i := range m {
		for j := 0; j <= i; j++ {
			sum := m[i][j]
			for k := range j {
				sum -= m[i][k] * m[j][k]
			}
			if i == j {
				m[i][i] = math.Sqrt(sum)
			} else {
				m[i][j] = sum / m[j][j]
			}
		}
	}
}

// backSolve solves with the factor. It overwrites right.
func backSolve(l [][]float64, right []float64) []float64 {
	n := len(l)
	for i := range n {
		for k := range i {
			right[i] -= l[i][k] * right[k]
		}
		right[i] /= l[i][i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			right[i] -= l[k][i] * right[k]
		}
		right[i] /= l[i][i]
	}
	return right
}
